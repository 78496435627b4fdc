import { DAY, type Instant, writeSortable } from '@chancery/protocol'
import type { Reader } from './database.ts'

/** A treaty that a partner reports as active. */
export interface ReportedTreaty {
  readonly reported_by: string
  readonly treaty_id: string
  readonly subject_sovereign_id: string
  /** As signed. */
  readonly valid_from: string
  readonly expires_at: string
  /** When the partner last listed it. */
  readonly as_of: string
  readonly last_good_pull_at: string
  readonly interval_seconds: number
}

/**
 * Reported treaties whose window holds now, of partners with a good pull in the last 24 hours. The caller leaves out those of
 * partners without an own treaty in force.
 */
export async function listReportedTreaties(db: Reader, now: Instant): Promise<readonly ReportedTreaty[]> {
  const rows = await db
    .selectFrom('reported_treaties as t')
    .innerJoin('partners as p', 'p.sovereign_id', 't.sovereign_id')
    .select([
      't.sovereign_id as reported_by',
      't.treaty_id',
      't.subject_sovereign_id',
      't.valid_from',
      't.expires_at',
      'p.treaties_as_of as as_of',
      'p.last_good_pull_at',
      'p.interval_seconds',
    ])
    .where('t.hidden', '=', 0)
    .where('t.ends_at', '>', writeSortable(now))
    .where('t.starts_at', '<=', writeSortable(now))
    .where('p.last_good_pull_at', '>=', writeSortable(now - DAY))
    .orderBy('t.sovereign_id')
    .orderBy('t.treaty_id')
    .execute()
  return rows.map((row) => ({ ...row, as_of: row.as_of ?? '', last_good_pull_at: row.last_good_pull_at ?? '' }))
}
