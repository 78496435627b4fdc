import { MINUTE, writeSortable } from '@chancery/protocol'
import { ManualClock, accepted, startTestAuthority } from '@chancery/testkit'
import { expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'

it('counts a small network directly, and returns the last count of the job for a large one', async () => {
  const clock = new ManualClock()
  const na = await startTestAuthority({ clock })
  const db = rowsOf(na.core.database)
  const now = writeSortable(clock.now())
  const insert = async (from: number, count: number): Promise<void> => {
    const rows = Array.from({ length: count }, (_, index) => ({
      cert_id: `cert-${from + index}`,
      node_public_key: `key-${from + index}`,
      last_heartbeat: now,
      heartbeat_status: 'ok',
      remote_addr: '192.0.2.1',
    }))
    await db.insertInto('node_liveness').values(rows).execute()
  }
  await insert(0, 3)
  expect(await na.features.enrollment.readCountedNodes()).toBe(3)
  for (let from = 3; from < 10_001; from += 2000) await insert(from, 2000)
  const minute = async (at: bigint, active: number): Promise<void> => {
    const row = { minute: writeSortable(at), active, tracked: 0, expiring: 0 }
    await db
      .insertInto('activity_minutes')
      .values(row)
      .onConflict((conflict) => conflict.column('minute').doUpdateSet({ active }))
      .execute()
  }
  const attempt = async (): Promise<readonly unknown[] | undefined> => {
    // Later than the counts of the background job.
    clock.advance(600)
    await db.deleteFrom('activity_minutes').execute()
    await minute(clock.now() - 5n * MINUTE, 7)
    await minute(clock.now() + MINUTE, 8)
    const old = await na.features.enrollment.readCountedNodes()
    await minute(clock.now() - 4n * MINUTE, 9)
    const counted = await na.features.enrollment.readCountedNodes()
    const { nodes } = accepted(await na.request('GET', '/dashboard.json'))
    // The job ran in between, and added its own count.
    if ((await db.selectFrom('activity_minutes').selectAll().execute()).length !== 3) return undefined
    return [old, counted, nodes]
  }
  // A page of a large network does not count it either.
  const expected = [Number.NaN, 9, expect.objectContaining({ active: 9 })]
  await expect.poll(attempt, { timeout: 15_000 }).toEqual(expected)
  await na.stop()
})
