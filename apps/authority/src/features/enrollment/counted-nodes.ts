import { MINUTE, writeSortable } from '@chancery/protocol'
import type { EnrollmentState } from './state.ts'
import { isLargeTable } from '../../database/large-table.ts'

/** An older count is not used. */
const OLDEST = 5n * MINUTE

/**
 * Active nodes for the metrics. A large table is not counted here: a job counts it every minute and stores the result.
 * NaN when no instance has counted for five minutes.
 */
export async function readCountedNodes({
  database: { read: db },
  clock,
  batches: enrollment,
}: EnrollmentState): Promise<number> {
  if (!(await isLargeTable(db, 'node_liveness'))) return enrollment.count.read()
  const now = clock.now()
  const row = await db
    .selectFrom('activity_minutes')
    .select('active')
    .where('minute', '>', writeSortable(now - OLDEST))
    .where('minute', '<=', writeSortable(now))
    .orderBy('minute', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row?.active ?? Number.NaN
}
