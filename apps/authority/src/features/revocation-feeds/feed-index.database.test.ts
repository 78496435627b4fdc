import { DAY, writeSortable } from '@chancery/protocol'
import { ManualClock, type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'
import { refreshFeed } from './feed-index.ts'

let na: TestAuthority
let clock: ManualClock
beforeEach(async () => {
  clock = new ManualClock('2030-01-01T00:00:00Z')
  na = await startTestAuthority({ clock, settings: { NA_CLOCK_CHECK: 'off' } })
})
afterEach(() => na.stop())

const { signal } = new AbortController()

async function seedRemoved(days: readonly bigint[]): Promise<void> {
  const rows = days.map((age, index) => ({
    sequence: index + 1,
    feed_id: `feed-${index + 1}`,
    issued_at: writeSortable(clock.now() - age * DAY),
    digest: 'd',
    ids: 0,
    cause: 'refresh',
  }))
  await rowsOf(na.core.database).insertInto('removed_own_feeds').values(rows).execute()
}

async function left(): Promise<number[]> {
  const rows = na.core.database.read.selectFrom('removed_own_feeds').select('sequence').orderBy('sequence')
  return (await rows.execute()).map(({ sequence }) => sequence)
}

describe('the job feed-refresh', () => {
  it('removes digests of versions after 400 days, with an accepted clock only', async () => {
    await seedRemoved([500n, 402n, 300n])
    na.core.purgeClock.daily.now()
    await refreshFeed(na.parts, signal)
    expect(await left()).toEqual([1, 2, 3])
    // Accepted after 25 hours.
    clock.advance(26 * 3600)
    await refreshFeed(na.parts, signal)
    expect(await left()).toEqual([3])
  })
})
