import { type Instant, MAX_FEED_IDS, readInstant } from '@chancery/protocol'
import type { Reader } from '../database/database.ts'

/**
 * Returns whether a version of the own feed may lack a revoked attestation: it had ended by then, or the plain form was
 * full of newer ones and the parts have it. An id that is in no part of the feed is missing.
 */
export async function mayLeaveOut(
  db: Reader,
  attestation_id: string,
  version: { readonly at: Instant; readonly ids: number },
): Promise<boolean> {
  const row = await db
    .selectFrom('own_feed_ids')
    .select('ends_at')
    .where('attestation_id', '=', attestation_id)
    .executeTakeFirst()
  if (row === undefined) return false
  return version.ids >= MAX_FEED_IDS || (readInstant(row.ends_at) ?? version.at) < version.at
}
