import { readInstant, seconds } from '@chancery/protocol'
import { ManualClock, accepted, startTestAuthority } from '@chancery/testkit'
import { describe, expect, it, vi } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'
import { LOOPBACK, PartnerCalls, openPartnerCalls, requestOf } from './partner-calls.suite.ts'

const calls = openPartnerCalls()
const { clock } = calls

describe('the job that pulls partners', () => {
  it('fills the other places while one partner does not end, and extends its lease', async () => {
    const slow = await calls.newStub()
    const quick = await calls.newStub()
    const open: (() => void)[] = []
    accepted(await calls.admin('POST', '', requestOf(slow, { interval_seconds: 60 })), 201)
    accepted(await calls.admin('POST', '', requestOf(quick, { interval_seconds: 300 })), 201)
    slow.show('/genesis', (_request, response) => void open.push(() => response.end()))
    const seen = (stub: typeof slow): number => stub.seen.filter((path) => path === '/crl').length
    clock.advance(67)
    await vi.waitFor(() => expect(open).toHaveLength(1), { timeout: 9000, interval: 20 })
    // Longer than the lease, and shorter than the claim of a pull.
    clock.advance(340)
    await vi.waitFor(() => expect(seen(quick)).toBe(1), { timeout: 5000, interval: 20 })
    await vi.waitFor(async () => expect(await leaseEnd()).toBeGreaterThan(clock.now()), { timeout: 3000 })
    expect([open.length, seen(slow)]).toEqual([1, 0])
    open.forEach((end) => end())
  }, 20_000)

  it('waits before it repeats a pull that failed inside', async () => {
    const stub = await calls.newStub()
    const added = accepted(await calls.admin('POST', '', requestOf(stub, { interval_seconds: 300 })), 201)
    const name = String(added['sovereign_id'])
    await rowsOf(calls.na.core.database)
      .updateTable('partners')
      .set({ stored_json: 'not JSON' })
      .where('sovereign_id', '=', name)
      .execute()
    clock.advance(400)
    const row = await vi.waitFor(
      async () => {
        const found = await calls.na.core.database.read
          .selectFrom('partners')
          .select(['failures', 'next_pull_at', 'pull_token'])
          .where('sovereign_id', '=', name)
          .executeTakeFirst()
        expect(found).toMatchObject({ failures: 1, pull_token: null })
        return found
      },
      { timeout: 9000, interval: 20 },
    )
    expect(readInstant(row?.next_pull_at ?? '')).toBeGreaterThan(clock.now() + seconds(500))
  }, 20_000)

  async function leaseEnd(): Promise<bigint> {
    const row = await calls.na.core.database.read
      .selectFrom('job_leases')
      .select('expires_at')
      .where('name', '=', 'partner-pull')
      .executeTakeFirst()
    return readInstant(row?.expires_at ?? '') ?? 0n
  }
})

it('an authority that reads from a silent partner stops at once', async () => {
  const clock = new ManualClock('2026-01-02T03:04:05Z')
  const na = await startTestAuthority({ clock, settings: LOOPBACK })
  const calls = new PartnerCalls(() => na, clock)
  let isStopped = false
  try {
    const stub = await calls.newPartner({ interval_seconds: 300 })
    stub.show('/sovereign-revocation-feed', () => undefined)
    clock.advance(86_400)
    await vi.waitFor(() => expect(stub.seen).toContain('/sovereign-revocation-feed'), { timeout: 20_000, interval: 20 })
    const started = performance.now()
    await na.stop()
    isStopped = true
    expect(performance.now() - started).toBeLessThan(5000)
  } finally {
    await calls.stop()
    if (!isStopped) await na.stop()
  }
}, 60_000)
