import { mkdtemp, rm } from 'node:fs/promises'
import { type Server, createServer } from 'node:https'
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
/** Event ids of every body sent to the collector. */
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
  state = (await DurableState.open({ file: join(folder, 'state'), maxBytes: 64 * 1024 * 1024, log, ring: undefined }))
    .state
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
    reloaded: () => ({ token: undefined, extraRoots: [ca.cert] }),
    log: createLog({ level: 'info', format: 'json', destination }),
    everyMs: 5,
  })
}

async function until(check: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await check())) await new Promise((done) => setTimeout(done, 5))
}

const pendingCount = async (): Promise<number> => (await state.measure()).pending

describe('audit delivery', () => {
  it('a collector that refuses one event receives all others, and that event ten times alone', async () => {
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
    // Ten attempts, and possibly the first attempt of the rejected queue.
    expect([10, 11]).toContain(alone)
    expect(lines.filter((line) => line.includes('moved to the rejected queue'))).toHaveLength(1)
  })

  it('an event that is never acknowledged blocks later ones for at most ten attempts', async () => {
    await append(120)
    respond = (ids) => ({ status: 200, acknowledged: ids.filter((id) => id !== 'e-0') })
    deliver()
    await until(async () => (await pendingCount()) === 1)
    await until(() => lines.some((line) => line.includes('moved to the rejected queue')))
    // Rejected events do not delay new events.
    await state.append({ event: 'test', event_id: 'later' })
    await until(() => sent.flat().includes('later'))
  })

  it('a collector that acknowledges a few at a time, or that is down, causes no rejected events', async () => {
    await append(100)
    let isDown = true
    respond = (ids) => (isDown ? { status: 503, acknowledged: [] } : { status: 200, acknowledged: ids.slice(0, 3) })
    deliver()
    await until(() => sent.length > 4)
    isDown = false
    await until(async () => (await pendingCount()) === 0)
    const order = [...new Set(sent.flat())]
    expect(order).toEqual(names(100))
    expect(lines.filter((line) => line.includes('rejected queue'))).toEqual([])
  })

  it('pauses longer only for consecutive failures, so that a single one does not delay a backlog', async () => {
    await append(12)
    respond = (ids) =>
      sent.length % 2 === 1 ? { status: 503, acknowledged: [] } : { status: 200, acknowledged: ids.slice(0, 1) }
    const begun = performance.now()
    deliver()
    await until(async () => (await pendingCount()) === 0)
    // Twelve pauses of 5 ms. Doubled each time, they would take twenty seconds.
    expect(performance.now() - begun).toBeLessThan(15_000)
  })
})
