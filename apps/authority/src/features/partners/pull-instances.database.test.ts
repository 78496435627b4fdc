import type { ServerResponse } from 'node:http'
import { ManualClock, type TestAuthority, accepted, refused, startTestAuthority, wireText } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { LOOPBACK, PartnerCalls, openPartnerCalls, requestOf } from './partner-calls.suite.ts'
import type { StubPartner } from './stub-partner.suite.ts'

const TIMEOUT = { timeout: 20_000, interval: 20 }

/** Requests for a genesis block that wait until they are released. */
class Gate {
  readonly #waiting: (() => void)[] = []
  highest = 0

  get waiting(): number {
    return this.#waiting.length
  }

  close(stub: StubPartner): void {
    stub.show('/genesis', (_request, response) => {
      this.#waiting.push(() => answer(stub, response))
      this.highest = Math.max(this.highest, this.#waiting.length)
    })
  }

  open(): void {
    for (const release of this.#waiting.splice(0)) release()
  }
}

function answer(stub: StubPartner, response: ServerResponse): void {
  response.writeHead(200, { 'content-type': 'application/json' }).end(wireText(stub.genesis()))
}

/** What the scheduler calls. */
function runJob(na: TestAuthority, signal: AbortSignal = new AbortController().signal): Promise<void> {
  const job = na.features.partners.jobs.find(({ name }) => name === 'partner-pull')
  if (job === undefined) throw new Error('no such job')
  return Promise.resolve(job.run(signal))
}
const readsOf = (stub: StubPartner): number => stub.seen.filter((path) => path === '/genesis').length
const isPulled = async (calls: PartnerCalls, stub: StubPartner): Promise<boolean> =>
  (await calls.show(stub))['last_pull'] !== null

describe('the job that pulls', () => {
  const calls = openPartnerCalls()
  const { clock } = calls

  it('pulls a partner when its interval is over, and no paused one', async () => {
    const [due, paused, later] = [
      await calls.newPartner({ interval_seconds: 60 }),
      await calls.newPartner({ interval_seconds: 60 }),
      await calls.newPartner({ interval_seconds: 3600 }),
    ]
    accepted(await calls.admin('POST', `/${paused.name}`, { paused: true }))
    await runJob(calls.na)
    expect(await isPulled(calls, due)).toBe(false)
    clock.advance(67)
    await vi.waitFor(async () => {
      await runJob(calls.na)
      expect(await isPulled(calls, due)).toBe(true)
    }, TIMEOUT)
    expect([await isPulled(calls, paused), await isPulled(calls, later)]).toEqual([false, false])
    for (const stub of [due, paused, later]) accepted(await calls.admin('POST', `/${stub.name}/remove`, {}))
  })

  it('pulls at most 8 at once, and all of them', async () => {
    const gate = new Gate()
    const stubs: StubPartner[] = []
    for (let i = 0; i < 12; i += 1) stubs.push(await calls.newPartner({ interval_seconds: 60 }))
    for (const stub of stubs) gate.close(stub)
    clock.advance(67)
    const running = runJob(calls.na)
    await vi.waitFor(() => expect(gate.waiting).toBe(8), TIMEOUT)
    const refusedPull = await calls.admin('POST', `/${stubs.find((stub) => readsOf(stub) > 1)?.name ?? ''}/pull`)
    refused(refusedPull, 409, 'pull_in_progress')
    await vi.waitFor(async () => {
      gate.open()
      for (const stub of stubs) expect(await isPulled(calls, stub)).toBe(true)
    }, TIMEOUT)
    await running
    expect(gate.highest).toBe(8)
    for (const stub of stubs) accepted(await calls.admin('POST', `/${stub.name}/remove`, {}))
  })

  it('gives a partner back when it is stopped', async () => {
    const gate = new Gate()
    const stub = await calls.newPartner({ interval_seconds: 60 })
    gate.close(stub)
    clock.advance(67)
    const stop = new AbortController()
    const running = runJob(calls.na, stop.signal)
    await vi.waitFor(() => expect(gate.waiting).toBe(1), TIMEOUT)
    stop.abort()
    await running
    expect(await isPulled(calls, stub)).toBe(false)
    stub.show('/genesis', stub.genesis())
    expect(await calls.pull(stub)).toMatchObject({ outcome: 'ok' })
  })

  it('stores nothing of a partner that was removed or pinned again during the pull', async () => {
    const gate = new Gate()
    const stub = await calls.newPartner()
    gate.close(stub)
    clock.advance(11)
    const pull = calls.admin('POST', `/${stub.name}/pull`)
    await vi.waitFor(() => expect(gate.waiting).toBe(1), TIMEOUT)
    accepted(await calls.admin('POST', `/${stub.name}/remove`, {}))
    stub.show('/genesis', stub.genesis())
    accepted(await calls.admin('POST', '', requestOf(stub)), 201)
    gate.open()
    refused(await pull, 409, 'pull_in_progress')
    expect(await calls.show(stub)).toMatchObject({ state: 'new', last_pull: null, feed: null })
  })
})

describe.runIf(process.env['CHANCERY_TEST_DATABASE'] === 'postgres')('two instances on one database', () => {
  const clock = new ManualClock('2026-01-02T03:04:05Z')
  let [a, b] = [] as unknown as [TestAuthority, TestAuthority]
  const calls = new PartnerCalls(() => a, clock)
  const others = new PartnerCalls(() => b, clock)
  beforeEach(async () => {
    const settings = { ...LOOPBACK, NA_HA_MODE: 'on' }
    a = await startTestAuthority({ clock, settings })
    b = await startTestAuthority({ clock, settings, database: a.database })
  })
  afterEach(async () => {
    await b.stop()
    await a.stop()
    await calls.stop()
  })

  it('never pull one partner at the same time, and the other one continues when one ended', async () => {
    const gate = new Gate()
    const stub = await calls.newPartner({ interval_seconds: 60 })
    gate.close(stub)
    const before = readsOf(stub)
    clock.advance(67)
    const running = [runJob(a), runJob(b), runJob(a), runJob(b)]
    await vi.waitFor(() => expect(gate.waiting).toBe(1), TIMEOUT)
    clock.advance(11)
    refused(await others.admin('POST', `/${stub.name}/pull`), 409, 'pull_in_progress')
    gate.open()
    await Promise.all(running)
    expect([gate.highest, readsOf(stub) - before]).toEqual([1, 1])
    stub.show('/genesis', stub.genesis())
    clock.advance(67)
    await vi.waitFor(async () => {
      await runJob(b)
      expect(readsOf(stub) - before).toBe(2)
    }, TIMEOUT)
  })
})
