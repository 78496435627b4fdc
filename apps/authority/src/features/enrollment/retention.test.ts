import { ALL_ROUTES } from '@chancery/contract'
import { DAY, writeSortable } from '@chancery/protocol'
import {
  ManualClock,
  accepted,
  createInvite,
  enroll,
  nodeCaller,
  startTestAuthority,
  testSigner,
} from '@chancery/testkit'
import type { TestAuthority } from '@chancery/testkit'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { coreJobs } from '../../startup/core-jobs.ts'
import type { Core } from '../../core.ts'
import { jobsOf, openFeatures } from '../../features.ts'
import { DAILY_DELAY_MS, NONCE_DELAY_MS, PurgeClock } from '../../clock/purge-clock.ts'
import { createMetrics } from '../../metrics.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const clock = new ManualClock('2026-03-01T00:00:00Z')
let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterAll(() => na.stop())

/** The same authority after a restart, without its in-memory state. */
function restarted(at: ManualClock = clock): Core {
  const purgeClock = {
    nonces: new PurgeClock(at, NONCE_DELAY_MS),
    daily: new PurgeClock(at, DAILY_DELAY_MS),
  }
  return { ...na.core, purgeClock }
}

const JOBS = ['purge-clock', 'retention', 'purge-idempotency-keys']
async function run(core: Core): Promise<void> {
  // Features register gauges, once in a process.
  const fresh = { ...core, metrics: createMetrics(ALL_ROUTES, core.clock) }
  const jobs = [...coreJobs(core, na.settings), ...jobsOf(openFeatures(fresh, na.settings), fresh)]
  for (const job of jobs) if (JOBS.includes(job.name)) await job.run(new AbortController().signal)
}

type Counted = 'invite_tokens' | 'node_liveness' | 'issued_certs' | 'evidence_rejections' | 'idempotency_keys'
async function countOf(table: Counted): Promise<number> {
  const query = na.core.database.read.selectFrom(table).select((eb) => eb.fn.countAll<number>().as('count'))
  return Number((await query.executeTakeFirst())?.count)
}

async function reject(rejected_at: string): Promise<void> {
  const row = { rejection_id: rejected_at, rejected_at, code: 'evidence_malformed', submitted_digest: 'd' }
  const about = { evidence_id: null, decision_id: null, resource_id: null, executor_sovereign_id: null }
  await rowsOf(na.core.database)
    .insertInto('evidence_rejections')
    .values({ ...row, ...about })
    .execute()
}

it('processes that run for half a day each accept their clock together after a day, and continue from there', async () => {
  const [first, second] = [restarted(), restarted()]
  for (let hour = 0; hour < 12; hour += 1) {
    clock.advance(3600)
    // Two instances at the same time: their hours count once.
    await run(first)
    await run(second)
  }
  expect(first.purgeClock.daily.now()).toBeLessThan(clock.now() - 300n * DAY)
  for (let half = 0; half < 2; half += 1) {
    clock.advance(600)
    const core = restarted()
    await run(core)
    clock.advance(12 * 3600)
    await run(core)
    const isDecided = core.purgeClock.daily.now() > clock.now() - DAY
    expect(isDecided).toBe(half === 1)
  }
  const member = nodeCaller(na.url, await testSigner('node', 'ends'), () => clock.now())
  await enroll(na, member, { max_validity_hours: 1 })
  await createInvite(na)
  accepted(await na.as('standard')('POST', '/admin/invite', {}, { headers: { 'Idempotency-Key': 'a' } }), 201)
  await reject(writeSortable(clock.now()))
  await reject(writeSortable(clock.now() - 62n * DAY))

  // Restarts twice a day, with ten minutes of downtime each: no process runs for long.
  for (let half = 1; half <= 184; half += 1) {
    clock.advance(600)
    const core = restarted()
    await run(core)
    clock.advance(12 * 3600)
    await run(core)
    // After 30 days an invite of one day is not 30 days past its end. The earlier refusal was stored for 90 days.
    if (half === 60) expect([await countOf('invite_tokens'), await countOf('evidence_rejections')]).toEqual([3, 1])
    if (half === 68) expect([await countOf('invite_tokens'), await countOf('evidence_rejections')]).toEqual([0, 1])
  }
  expect(await countOf('invite_tokens')).toBe(0)
  expect(await countOf('node_liveness')).toBe(0)
  expect(await countOf('idempotency_keys')).toBe(0)
  expect(await countOf('evidence_rejections')).toBe(0)
  // Another job removes certificates.
  expect(await countOf('issued_certs')).toBe(1)
})

it('nothing is removed early by a process whose clock is ahead from its start', async () => {
  await createInvite(na)
  const ahead = new ManualClock(clock.now() + 40n * DAY)
  const core = restarted(ahead)
  await run(core)
  ahead.advance(12 * 3600)
  await run(core)
  expect(await countOf('invite_tokens')).toBe(1)
})
