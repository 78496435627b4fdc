import { DAY, type Instant, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Reader } from '../../database/database.ts'

/** How long a treaty that ended without a successor is reported. */
const LAPSED_WITHIN = 7n * DAY

export interface TreatyExpiry {
  /** When the first currently recognised sovereign will be without a treaty, as stored. */
  readonly next: string | undefined
  /** Sovereigns whose last treaty ended within seven days. */
  readonly lapsed: number
}

/**
 * Finds when recognition ends without action by an operator. By sovereign, not by treaty: the old treaty of a renewed
 * sovereign may expire. Revoked treaties are not counted.
 */
export async function findNextExpiry(db: Reader, at: Instant): Promise<TreatyExpiry> {
  const now = writeSortable(at)
  const last = db
    .selectFrom('recognition_treaties')
    .select((eb) => eb.fn.max('expires_at').as('ends'))
    .where('status', '=', 'active')
    .where('expires_at', '>', writeSortable(at - LAPSED_WITHIN))
    .groupBy('subject_sovereign_id')
  const row = await db
    .selectFrom(last.as('last'))
    .select([
      sql<string | null>`min(case when ends > ${now} then ends end)`.as('next'),
      sql<number | null>`sum(case when ends > ${now} then 0 else 1 end)`.as('lapsed'),
    ])
    .executeTakeFirst()
  return { next: row?.next ?? undefined, lapsed: Number(row?.lapsed ?? 0) }
}

/** When recognition of each sovereign ends, or ended within seven days, by name. */
export async function listExpiry(
  db: Reader,
  now: Instant,
): Promise<readonly { readonly sovereign: string; readonly ends: string }[]> {
  return db
    .selectFrom('recognition_treaties')
    .select((eb) => ['subject_sovereign_id as sovereign', eb.fn.max('expires_at').as('ends')])
    .where('status', '=', 'active')
    .where('expires_at', '>', writeSortable(now - LAPSED_WITHIN))
    .groupBy('subject_sovereign_id')
    .orderBy('subject_sovereign_id')
    .execute()
}
