import { DAY, writeSortable } from '@chancery/protocol'
import { ManualClock, type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

let na: TestAuthority
let clock: ManualClock
beforeEach(async () => {
  clock = new ManualClock('2030-01-01T00:00:00Z')
  na = await startTestAuthority({ clock })
  // The clock of the jobs is accepted after 25 hours.
  na.core.purgeClock.daily.now()
  clock.advance(26 * 3600)
  na.core.purgeClock.daily.now()
})
afterEach(() => na.stop())

const ago = (days: bigint): string => writeSortable(clock.now() - days * DAY)

describe('the job retention', () => {
  it('removes digests of imported feeds after 400 days, and no feed with its text', async () => {
    const rows = rowsOf(na.core.database)
    const feed = (sequence: number, days: bigint, digest: string | null) => ({
      issuer_sovereign_id: 'FJORD',
      sequence,
      feed_id: `f-${sequence}`,
      feed_json: digest === null ? '{}' : '',
      revoked_count: 0,
      imported_at: ago(days),
      complete: 1,
      digest,
    })
    await rows
      .insertInto('sovereign_revocation_feeds')
      .values([feed(1, 500n, 'd'), feed(2, 399n, 'd'), feed(3, 500n, null), feed(4, 500n, null)])
      .execute()
    await na.features.revocationFeeds.removeOldImports(new AbortController().signal)
    const left = await rows.selectFrom('sovereign_revocation_feeds').select('sequence').orderBy('sequence').execute()
    expect(left.map((row) => row.sequence)).toEqual([2, 3, 4])
  })
})
