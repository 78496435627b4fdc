import { DAY, writeSortable } from '@chancery/protocol'
import { ManualClock, type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

let na: TestAuthority
let clock: ManualClock
beforeEach(async () => {
  clock = new ManualClock('2030-01-01T00:00:00Z')
  na = await startTestAuthority({ clock, settings: { EVIDENCE_STORE: 'on' } })
  acceptClock()
})
afterEach(() => na.stop())

/** The clock of the jobs is accepted after 25 hours. */
function acceptClock(): void {
  na.core.purgeClock.daily.now()
  clock.advance(26 * 3600)
  na.core.purgeClock.daily.now()
}

const ago = (days: bigint): string => writeSortable(clock.now() - days * DAY)
const checkpoint = (through: number, days: bigint) => ({
  removed_through_sequence: through,
  checkpoint_id: `c-${through}`,
  checkpoint_json: '{}',
  created_at: ago(days),
})

describe('the job retention', () => {
  it('removes replaced checkpoints after 400 days, and never the latest', async () => {
    const rows = rowsOf(na.core.database)
    await rows
      .insertInto('evidence_checkpoints')
      .values([checkpoint(1, 900n), checkpoint(2, 401n), checkpoint(3, 399n)])
      .execute()
    const left = async (): Promise<readonly number[]> =>
      (
        await rows
          .selectFrom('evidence_checkpoints')
          .select('removed_through_sequence')
          .orderBy('removed_through_sequence')
          .execute()
      ).map((row) => row.removed_through_sequence)
    await na.features.evidence.removeOldRows()
    expect(await left()).toEqual([3])
    clock.advance(100 * 86_400)
    await na.features.evidence.removeOldRows()
    expect(await left()).toEqual([3])
  })

  it('removes hourly counts after 400 days, also without new decisions', async () => {
    const rows = rowsOf(na.core.database)
    await rows
      .insertInto('decision_hours')
      .values(
        [401n, 399n].map((days) => ({ hour: ago(days), split: 'total', name: '', outcome: 'allow', decisions: 1 })),
      )
      .execute()
    await na.features.evidence.removeOldRows()
    expect((await rows.selectFrom('decision_hours').select('hour').execute()).map((row) => row.hour)).toEqual([
      ago(399n),
    ])
  })
})
