import { mkdtemp, rm } from 'node:fs/promises'
import { createServer } from 'node:https'
import type { Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createLog } from '@chancery/service-kit'
import { TestCa } from '@chancery/testkit'
import { afterAll, afterEach, beforeEach, describe, expect, it } from 'vitest'
import { DurableState } from '../state/durable-state.ts'
import { createStateFile } from '../state/state-file.ts'
import { AuditDelivery } from './deliver.job.ts'

const ca = new TestCa()
const leaf = ca.issue('collector')
let server: Server
let folder: string
let state: DurableState
let delivery: AuditDelivery | undefined
let lines: string[]
/** Every body the collector was sent, as ids. */
let sent: string[][]
let respond: (ids: readonly string[]) => { readonly status: number; readonly acknowledged: readonly string[] }
afterAll(() => ca.remove())

beforeEach(async () => {
  sent = []
  lines = []
  respond = (ids) => ({ status: 200, acknowledged: ids })
  server = createServer({ cert: leaf.cert, key: leaf.key }, (request, response) => {
    let text = ''
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk))
    request.on('end', () => {
      const ids = (JSON.parse(text) as { events: { id: string }[] }).events.map(({ id }) => id)
      sent.push(ids)
      const { status, acknowledged } = respond(ids)
      response.writeHead(status).end(JSON.stringify({ acknowledged_ids: acknowledged }))
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  folder = await mkdtemp(join(tmpdir(), 'chancery-delivery-'))
  createStateFile(join(folder, 'state'), () => undefined)
  const destination = { write: (line: string): number => lines.push(line) }
  const log = createLog({ level: 'info', format: 'json', destination })
  state = (await DurableState.open(join(folder, 'state'), 64 * 1024 * 1024, log)).state
})
afterEach(async () => {
  await delivery?.close()
  await state.close()
  server.closeAllConnections()
  await new Promise((done) => server.close(done))
  await rm(folder, { recursive: true, force: true })
})

const names = (count: number): string[] => Array.from({ length: count }, (_, n) => `e-${n}`)

async function append(count: number): Promise<void> {
  await Promise.all(names(count).map((event_id) => state.append({ event: 'test', event_id })))
}

function deliver(): void {
  const destination = { write: (line: string): number => lines.push(line) }
  delivery = new AuditDelivery({
    state,
    url: new URL(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`),
    allowPrivate: false,
    secrets: () => ({ token: undefined, extraRoots: [ca.cert] }),
    log: createLog({ level: 'info', format: 'json', destination }),
    everyMs: 5,
  })
}

async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((done) => setTimeout(done, 5))
}

const pendingCount = async (): Promise<number> => (await state.measure()).pending

describe('audit delivery', () => {
  it('a collector that refuses every body with one event in it gets all others, and that one ten times alone', async () => {
    await append(250)
    const accepted: string[] = []
    respond = (ids) => {
      if (ids.includes('e-30')) return { status: 422, acknowledged: [] }
      accepted.push(...ids)
      return { status: 200, acknowledged: ids }
    }
    deliver()
    await until(async () => (await pendingCount()) === 1)
    expect(accepted).toEqual(names(250).filter((id) => id !== 'e-30'))
    const alone = sent.filter((ids) => ids.length === 1 && ids[0] === 'e-30').length
    // Ten attempts, and perhaps the first try of what was set aside.
    expect([10, 11]).toContain(alone)
    expect(lines.filter((line) => line.includes('they are set aside'))).toHaveLength(1)
  })

  it('an event that is never named blocks later ones for ten attempts at most', async () => {
    await append(120)
    respond = (ids) => ({ status: 200, acknowledged: ids.filter((id) => id !== 'e-0') })
    deliver()
    await until(async () => (await pendingCount()) === 1)
    await until(() => lines.some((line) => line.includes('they are set aside')))
    // Those set aside wait; what comes now does not wait for them.
    await state.append({ event: 'test', event_id: 'later' })
    await until(() => sent.flat().includes('later'))
  })

  it('a collector that takes a few at a time sets nothing aside, and neither does one that is down', async () => {
    await append(100)
    let isDown = true
    respond = (ids) => (isDown ? { status: 503, acknowledged: [] } : { status: 200, acknowledged: ids.slice(0, 3) })
    deliver()
    await until(() => sent.length > 4)
    isDown = false
    await until(async () => (await pendingCount()) === 0)
    const order = [...new Set(sent.flat())]
    expect(order).toEqual(names(100))
    expect(lines.filter((line) => line.includes('set aside'))).toEqual([])
  })

  it('pauses longer only for failures that follow each other: one now and then must not hold up a backlog', async () => {
    await append(12)
    respond = (ids) =>
      sent.length % 2 === 1 ? { status: 503, acknowledged: [] } : { status: 200, acknowledged: ids.slice(0, 1) }
    const begun = performance.now()
    deliver()
    await until(async () => (await pendingCount()) === 0)
    // Twelve pauses of 5 ms; were they to double, it would take twenty seconds.
    expect(performance.now() - begun).toBeLessThan(5000)
  })
})
