import { setTimeout as pause } from 'node:timers/promises'
import { route } from '@chancery/contract'
import { describe, expect, it } from 'vitest'
import { CachedDocument, type HandlerResult } from './response.ts'
import { UnreadAnswers } from './unread-answers.ts'
import { Wire, request, startEdge } from './test-edge.suite.ts'

const MIB = 1_048_576
const bodyOf = (size: number): Uint8Array => new Uint8Array(size)

describe('UnreadAnswers', () => {
  const open = (maxBytes: number) => {
    const unread = new UnreadAnswers(maxBytes)
    const cut: string[] = []
    const add = (body: Uint8Array, address: string) => unread.add(body, address, () => cut.push(address))
    return { unread, cut, add }
  }

  it('counts a body once however many read it, until the last reader ends', () => {
    const { unread, add, cut } = open(10 * MIB)
    const body = bodyOf(MIB)
    const ends = [add(body, 'a'), add(body, 'b'), add(body, 'b')]
    expect(unread.bytes).toBe(MIB)
    for (const end of ends) end?.()
    ends[0]?.()
    expect([unread.bytes, cut]).toEqual([0, []])
    expect(add(bodyOf(1000), 'a')).toBeUndefined()
  })

  it('cuts the oldest body of the address with the most bytes', () => {
    const { unread, cut, add } = open(10 * MIB)
    add(bodyOf(2 * MIB), 'reader')
    for (let sent = 0; sent < 100; sent += 1) add(bodyOf(2 * MIB), 'attacker')
    expect(unread.bytes).toBe(10 * MIB)
    expect([cut.length, new Set(cut)]).toEqual([96, new Set(['attacker'])])
  })

  it('cuts the readers of a document that others read, too, last', () => {
    const { cut, add } = open(10 * MIB)
    const current = bodyOf(4 * MIB)
    for (const address of ['a', 'b', 'c', 'd']) add(current, address)
    for (let sent = 0; sent < 50; sent += 1) add(bodyOf(2 * MIB), `attacker-${sent}`)
    expect(cut).toHaveLength(47)
    expect(cut.every((address) => address.startsWith('attacker'))).toBe(true)
  })

  it('takes a body that is larger than the limit', () => {
    const { unread, cut, add } = open(MIB)
    for (const address of ['a', 'b', 'c', 'd', 'e']) add(bodyOf(2 * MIB), address)
    expect([unread.bytes, cut]).toEqual([8 * MIB, ['a']])
  })
})

it.each<[string, () => HandlerResult]>([
  ['documents', () => new CachedDocument(new Uint8Array(12 * MIB).fill(0x61), 'no-store', 'text/plain')],
  ['JSON objects', () => ({ a: 'a'.repeat(12 * MIB - '{"a":""}'.length) })],
])('an address that reads no answer holds a limited number of %s', async (_name, handle) => {
  const facts = {
    access: 'public',
    limit: 'public',
    stability: 'internal',
    success: 200,
    response: 'json',
    summary: 'Test',
    purpose: 'Test.',
  } as const
  const versions = { route: route('GET /version', facts), handle }
  const edge = await startEdge({ bindings: [versions], unreadAnswerBytes: 48 * MIB })
  const wires: Wire[] = []
  for (let opened = 0; opened < 12; opened += 1) {
    const wire = await Wire.open(edge.port, '127.0.0.2')
    wire.socket.pause()
    wire.send(request('GET /version'))
    wires.push(wire)
  }
  while (edge.observed.length < 12) await pause(5)
  expect(edge.server.load().unreadBytes).toBeLessThanOrEqual(48 * MIB)
  const other = await Wire.open(edge.port, '127.0.0.3')
  expect((await other.send(request('GET /version')).reply()).body).toHaveLength(12 * MIB)
  await expect.poll(() => edge.server.load().connections).toBeLessThanOrEqual(5)
  for (const wire of [...wires, other]) wire.end()
  for (const { socket } of wires) socket.destroy()
  await expect.poll(() => edge.server.load().unreadBytes).toBe(0)
  await edge.stop()
})
