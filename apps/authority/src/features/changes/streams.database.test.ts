import { setTimeout as pause } from 'node:timers/promises'
import { STREAM_LIMITS } from '@chancery/contract'
import { accepted, currentBackend, enroll, newNodeCaller, startTestAuthority } from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type EventCaller, openEvents } from './events.suite.ts'
import { READ_SOURCES } from './topics.ts'

/** Enough keys to reach the limit of the process. */
const KEYS = Math.ceil(STREAM_LIMITS.inAll / STREAM_LIMITS.perKey) + 1
const OPERATORS = Object.fromEntries(Array.from({ length: KEYS }, (_, i) => [`reader-${i}`, 'standard' as const]))

let na: TestAuthority
let callers: EventCaller[] = []
beforeEach(async () => {
  na = await startTestAuthority({
    operators: { privileged: 'privileged', standard: 'standard', ...OPERATORS },
    settings: { NA_RATE_LIMIT_OPERATOR_READ_PER_MINUTE: '10000' },
  })
})
afterEach(async () => {
  for (const caller of callers) caller.close()
  callers = []
  vi.restoreAllMocks()
  await na.stop()
})

async function open(as = 'standard', at = na): Promise<EventCaller> {
  const caller = await openEvents(at, as)
  callers.push(caller)
  return caller
}
const openAll = (count: number, as = 'standard'): Promise<readonly EventCaller[]> =>
  Promise.all(Array.from({ length: count }, () => open(as)))
const statuses = (of: readonly EventCaller[]): readonly number[] => of.map(({ status }) => status)
const streams = (): Promise<string> => na.request('GET', '/metrics').then(({ text }) => text)
/** Counts the reads for streams from now on. */
function countReads(): () => number {
  const run = vi.spyOn(na.core.database, 'run')
  return () => run.mock.calls.filter(([statement]) => (statement as unknown) === READ_SOURCES).length
}

describe('reads for event streams', () => {
  it('do not run while no stream is open', async () => {
    const reads = countReads()
    await pause(1500)
    expect(reads()).toBe(0)
    const caller = await open()
    await expect.poll(reads, { timeout: 3000 }).toBeGreaterThanOrEqual(2)
    caller.close()
    await expect.poll(streams).toContain('chancery_http_streams 0')
    const before = reads()
    await pause(2500)
    expect(reads()).toBe(before)
  })

  it('run once a second for all streams together', async () => {
    await openAll(STREAM_LIMITS.perKey)
    await expect.poll(streams).toContain(`chancery_http_streams ${STREAM_LIMITS.perKey}`)
    const reads = countReads()
    await pause(3000)
    expect(reads()).toBeGreaterThanOrEqual(2)
    expect(reads()).toBeLessThanOrEqual(4)
  })
})

describe('the limits of event streams', () => {
  it('refuse a key with too many, and no other key; a closed stream makes room', async () => {
    const opened = await openAll(STREAM_LIMITS.perKey)
    expect(new Set(statuses(opened))).toEqual(new Set([200]))
    expect((await open()).status).toBe(429)
    expect((await open('reader-0')).status).toBe(200)
    opened[0]?.close()
    await expect.poll(async () => (await open()).status, { timeout: 5000 }).toBe(200)
  })

  it('hold for requests that arrive together', async () => {
    const opened = await openAll(STREAM_LIMITS.perKey * 3)
    await expect
      .poll(() => opened.filter((each) => each.status === 200 && !each.isEnded()).length, { timeout: 5000 })
      .toBe(STREAM_LIMITS.perKey)
  })

  it('refuse further streams of any key when the process has all of them', async () => {
    for (let i = 0; i < KEYS; i += 1) await openAll(STREAM_LIMITS.perKey, `reader-${i}`)
    await expect.poll(streams).toContain(`chancery_http_streams ${STREAM_LIMITS.inAll}`)
    expect((await open()).status).toBe(503)
    // All other requests are served.
    accepted(await na.as('standard')('GET', '/admin/whoami'))
  })
})

describe('an event stream ends', () => {
  it('when its key is revoked', async () => {
    const [own, other] = [await open('reader-0'), await open('reader-1')]
    accepted(await na.as('privileged')('POST', '/admin/operator-keys/op-reader-0/revoke', { reason: 'left' }))
    await expect.poll(() => own.isEnded(), { timeout: 3000 }).toBe(true)
    await expect
      .poll(() => other.events().flatMap(({ changed }) => changed as readonly string[]), { timeout: 3000 })
      .toContain('keys')
    expect([other.isEnded(), (await open('reader-0')).status]).toEqual([false, 401])
  })

  it('when the database does not respond', async () => {
    const caller = await open()
    vi.spyOn(na.core.database, 'run').mockRejectedValue(new Error('gone'))
    await expect.poll(() => caller.isEnded(), { timeout: 3000 }).toBe(true)
  })

  it('when the process stops, which does not wait for it', async () => {
    const caller = await open()
    na.authority.turnNotReady()
    await expect.poll(() => caller.isEnded()).toBe(true)
    expect((await open()).status).toBe(503)
    accepted(await na.as('standard')('GET', '/admin/changes'))
    const startedMs = performance.now()
    await na.authority.stopAccepting()
    expect(performance.now() - startedMs).toBeLessThan(3000)
  })
})

describe.runIf(currentBackend() === 'postgres')('two instances', () => {
  it('report a change of one on a stream of the other within 2 seconds, with the same version', async () => {
    const other = await startTestAuthority({ database: na.database })
    try {
      const caller = await open('standard', other)
      await expect.poll(() => caller.events().length).toBeGreaterThan(0)
      await enroll(na, await newNodeCaller(na.url, 'other instance', na.core.clock))
      await expect
        .poll(() => caller.events().flatMap(({ changed }) => changed as readonly string[]), { timeout: 2000 })
        .toContain('nodes')
      const versionOf = async (at: TestAuthority): Promise<unknown> =>
        accepted(await at.as('standard')('GET', '/admin/changes'))['version']
      // A job may store an audit event between two reads.
      await expect.poll(async () => (await versionOf(other)) === (await versionOf(na))).toBe(true)
    } finally {
      await other.stop()
    }
  })
})
