import { setTimeout as pause } from 'node:timers/promises'
import { Refusal } from '@chancery/contract'
import { afterEach, describe, expect, it } from 'vitest'
import { type Edge, Wire, expectRefused, once, post, request, startEdge } from './test-edge.suite.ts'
import type { Guard } from './call.ts'
import type { ServerLoad } from './server.ts'

const KIB = 1024
const ROOM = { bytes: 512 * KIB, perAddressBytes: 256 * KIB }
const bodyBudgets = (intervalMs = 60_000) => ({
  budgets: { open: ROOM, node: ROOM, operator: ROOM },
  bodiesPerAddress: 20,
  pace: { intervalMs, bytes: 1000 },
})
const NOTHING = { open: 0, node: 0, operator: 0 }
const open: Guard = { limit: () => undefined, screen: () => undefined, authorize: (call) => call }

describe('withheld bodies', () => {
  const edges: Edge[] = []
  afterEach(() => Promise.all(edges.splice(0).map((edge) => edge.stop())))

  async function start(options: Parameters<typeof startEdge>[0] = {}): Promise<Edge> {
    const edge = await startEdge({ bodyBudgets: bodyBudgets(), ...options })
    edges.push(edge)
    return edge
  }

  /** Announces a large body and sends a part of it. */
  async function withhold(edge: Edge, path: string, bytes: number, from = '127.0.0.1'): Promise<Wire> {
    const wire = await Wire.open(edge.port, from)
    wire.send(request(`POST ${path}`, [`Content-Length: ${path === '/beat' ? 60_000 : 1_000_000}`], ' '.repeat(bytes)))
    return wire
  }

  async function settled(edge: Edge): Promise<void> {
    const isBusy = ({ inFlight, bodyBytes }: ServerLoad): boolean =>
      inFlight > 0 || Object.values(bodyBytes).some((bytes) => bytes > 0)
    for (let i = 0; i < 2000 && isBusy(edge.server.load()); i += 1) await pause(5)
    expect(edge.server.load()).toMatchObject({ inFlight: 0, bodyBytes: NOTHING })
  }

  async function postFrom(edge: Edge, path: string, from: string): Promise<number> {
    const wire = await Wire.open(edge.port, from)
    wire.send(request(`POST ${path}`, ['Content-Length: 2'], '{}'))
    const { status } = await wire.reply()
    wire.end()
    return status
  }

  it('of one address use the budget of that address only', async () => {
    const edge = await start()
    const held = await Promise.all(Array.from({ length: 8 }, () => withhold(edge, '/echo', 60 * KIB)))
    while (edge.server.load().bodyBytes.open < 128 * KIB) await pause(5)
    await pause(50)
    expect(edge.server.load().bodyBytes.open).toBeLessThanOrEqual(ROOM.perAddressBytes)
    expect(await postFrom(edge, '/echo', '127.0.0.2')).toBe(200)
    const refused = held.filter((wire) => wire.isClosed || wire.socket.bytesRead > 0)
    expect(refused.length).toBeGreaterThan(0)
    for (const wire of refused) expectRefused(await wire.reply(), 503, 'service_unavailable')
    for (const wire of held) wire.socket.destroy()
    await settled(edge)
  })

  it('of many addresses leave nodes and operators their budget, and others a small body', async () => {
    const edge = await start()
    const held: Wire[] = []
    for (let address = 2; address < 12; address += 1)
      for (let i = 0; i < 3; i += 1) held.push(await withhold(edge, '/echo', 60 * KIB, `127.0.0.${address}`))
    while (edge.server.load().bodyBytes.open < 400 * KIB) await pause(5)
    for (const path of ['/beat', '/order', '/echo']) expect(await postFrom(edge, path, '127.0.0.1'), path).toBe(200)
    for (const wire of held) wire.socket.destroy()
    await settled(edge)
  })

  it('of one caller behind a proxy leave connections for the others', async () => {
    const edge = await start({ proxyHops: 1 })
    const held: Wire[] = []
    for (let i = 0; i < 30; i += 1) {
      const wire = await Wire.open(edge.port)
      held.push(wire.send(request('POST /echo', ['X-Forwarded-For: 192.0.2.1', 'Content-Length: 100'], ' ')))
    }
    for (const wire of held.slice(20)) expectRefused(await wire.reply(), 503, 'service_unavailable')
    const other = request('POST /echo', ['X-Forwarded-For: 192.0.2.2', 'Content-Length: 2'], '{}')
    expect((await once(edge.port, other)).status).toBe(200)
    for (const wire of held) wire.socket.destroy()
    await settled(edge)
  })

  it('in pieces of one byte are limited in pieces and memory', async () => {
    const edge = await start()
    const wire = await Wire.open(edge.port)
    wire.send(request('POST /echo', ['Transfer-Encoding: chunked'], '1\r\n \r\n'.repeat(20_000)))
    expectRefused(await wire.reply(), 400, 'bad_request')
    await settled(edge)
  })

  it('are cancelled when they deliver too little in an interval; a steady one is read', async () => {
    const edge = await start({ bodyBudgets: bodyBudgets(600) })
    const silent = await withhold(edge, '/echo', 5000)
    const steady = await Wire.open(edge.port)
    steady.send(request('POST /echo', ['Content-Length: 10000']))
    for (let i = 0; i < 10; i += 1) {
      steady.send(i === 9 ? `{}${' '.repeat(998)}` : ' '.repeat(1000))
      await pause(150)
    }
    expectRefused(await silent.reply(), 408, 'request_timeout')
    expect(await silent.closes()).toBe(true)
    expect((await steady.reply()).status).toBe(200)
    steady.end()
    await settled(edge)
  })

  it('of callers that disconnect leave no resources in use', async () => {
    const edge = await start()
    const held = await Promise.all(['/echo', '/beat', '/order'].map((path) => withhold(edge, path, 2000)))
    while (Object.values(edge.server.load().bodyBytes).some((bytes) => bytes === 0)) await pause(5)
    for (const wire of held) wire.socket.resetAndDestroy()
    await settled(edge)
    for (let i = 0; i < 2000 && edge.server.load().connections > 0; i += 1) await pause(5)
    expect(edge.server.load().connections).toBe(0)
  })

  it('of a caller that disconnects during the limiter check leave no resources in use', async () => {
    const { promise: counted, resolve: count } = Promise.withResolvers<void>()
    const { promise: asked, resolve: ask } = Promise.withResolvers<void>()
    const limit = (): Promise<void> => {
      ask()
      return counted
    }
    const edge = await start({ guard: { ...open, limit } })
    const wire = await withhold(edge, '/echo', 2000)
    await asked
    wire.socket.resetAndDestroy()
    while (edge.server.load().connections > 0) await pause(5)
    count()
    await settled(edge)
    // Draining does not wait for it either.
    await edge.stop()
  })
})

describe('a large body', () => {
  const refusals = {
    limit: { ...open, limit: () => Promise.reject(new Refusal('rate_limit_exceeded')) },
    screen: { ...open, screen: () => Promise.reject(new Refusal('admin_auth_failed')) },
  }

  it.each([
    ['the limiter', refusals.limit, 429, 'rate_limit_exceeded'],
    ['a missing signature', refusals.screen, 401, 'admin_auth_failed'],
  ])('is not received when %s refuses its head', async (_what, guard, status, code) => {
    const edge = await startEdge({ guard })
    for (const framing of ['Content-Length: 1000000', 'Transfer-Encoding: chunked']) {
      const wire = await Wire.open(edge.port)
      wire.send(request('POST /order', [framing]))
      const reply = await wire.reply()
      expectRefused(reply, status, code)
      expect(reply.headers.get('connection')).toBe('close')
      expect(await wire.closes()).toBe(true)
    }
    expect(edge.server.load()).toMatchObject({ inFlight: 0, bodyBytes: NOTHING })
    await edge.stop()
  })

  it('with Expect gets no 100 Continue when its head is refused', async () => {
    const edge = await startEdge({ guard: refusals.screen })
    const wire = await Wire.open(edge.port)
    let heard = ''
    wire.socket.on('data', (bytes) => (heard += bytes.toString('latin1')))
    wire.send(request('POST /order', ['Expect: 100-continue', 'Content-Length: 1000000']))
    expectRefused(await wire.reply(), 401, 'admin_auth_failed')
    expect(heard).not.toContain('100 Continue')
    await edge.stop()
  })

  it('with Expect gets 100 Continue when its head is accepted', async () => {
    const edge = await startEdge()
    const wire = await Wire.open(edge.port)
    const { promise: continued, resolve } = Promise.withResolvers<void>()
    wire.socket.once('data', () => resolve())
    wire.send(request('POST /echo', ['Expect: 100-continue', 'Content-Length: 100000']))
    await continued
    expect(edge.server.load().inFlight).toBe(0)
    wire.send(`{}${' '.repeat(99_998)}`)
    expect((await wire.reply()).json).toEqual({ read: {} })
    wire.end()
    await edge.stop()
  })

  it('is counted once, and its refusal reaches a caller that is still sending', async () => {
    let counted = 0
    const limit = (): undefined => {
      counted += 1
    }
    const edge = await startEdge({ guard: { ...open, limit } })
    expect((await post(edge.port, `{}${' '.repeat(200_000)}`)).status).toBe(200)
    expect(counted).toBe(1)
    await edge.stop()
    const refusing = await startEdge({ guard: refusals.screen })
    const large = `{}${' '.repeat(1_900_000)}`
    for (let i = 0; i < 5; i += 1) expectRefused(await post(refusing.port, large), 401, 'admin_auth_failed')
    await refusing.stop()
  })

  it('arrives complete in pieces of any size', async () => {
    const edge = await startEdge()
    const text = `{"a":"${'0123456789'.repeat(20_000)}"}`
    const wire = await Wire.open(edge.port)
    wire.send(request('POST /echo', ['Transfer-Encoding: chunked']))
    for (let at = 0, size = 1; at < text.length; at += size, size = Math.min(40_000, size * 3)) {
      const piece = text.slice(at, at + size)
      wire.send(`${piece.length.toString(16)}\r\n${piece}\r\n`)
      await pause(2)
    }
    wire.send('0\r\n\r\n')
    expect((await wire.reply()).body).toBe(`{"read":${text}}`)
    wire.end()
    await edge.stop()
  })
})

describe('one address', () => {
  it('uses at most half of the slots, on any number of connections', async () => {
    const { promise: held, resolve: release } = Promise.withResolvers<void>()
    const edge = await startEdge({ hold: () => held })
    const wires = await Promise.all(Array.from({ length: 160 }, () => Wire.open(edge.port)))
    for (const wire of wires) wire.send(request('GET /hold'))
    while (edge.server.load().inFlight < 128) await pause(5)
    await pause(50)
    expect(edge.server.load().inFlight).toBe(128)
    const other = await Wire.open(edge.port, '127.0.0.2')
    expect((await other.send(request('GET /echo')).reply()).status).toBe(200)
    other.end()
    release()
    for (const wire of wires) wire.socket.destroy()
    for (let i = 0; i < 2000 && edge.server.load().inFlight > 0; i += 1) await pause(5)
    expect(edge.server.load().inFlight).toBe(0)
    expect((await once(edge.port, request('GET /echo'))).status).toBe(200)
    await edge.stop()
  })
})
