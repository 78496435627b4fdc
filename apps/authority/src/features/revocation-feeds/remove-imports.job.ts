import { DAY, writeSortable } from '@chancery/protocol'
import type { RevocationFeedsParts } from './feed-parts.ts'

const ROWS = 1000
/** As long as digests of the own feed and of lists. */
const STORED_FOR = 400n * DAY

/**
 * Removes sequence, digest and count of imported feeds whose text was removed before. A partner may sign a feed with
 * each pull. The newest two feeds of an issuer have their texts and stay, so a lower sequence is still refused.
 */
export async function removeOldImports(
  { database, purgeClock }: Pick<RevocationFeedsParts, 'database' | 'purgeClock'>,
  signal: AbortSignal,
): Promise<void> {
  const before = writeSortable(purgeClock.daily.now() - STORED_FOR)
  for (let removed = ROWS; removed === ROWS && !signal.aborted;)
    removed = await database.write(async ({ query }) => {
      const rows = await query
        .selectFrom('sovereign_revocation_feeds')
        .select(['issuer_sovereign_id', 'sequence'])
        .where('digest', 'is not', null)
        .where('imported_at', '<', before)
        .orderBy('imported_at')
        .limit(ROWS)
        .execute()
      for (const { issuer_sovereign_id, sequence } of rows)
        await query
          .deleteFrom('sovereign_revocation_feeds')
          .where('issuer_sovereign_id', '=', issuer_sovereign_id)
          .where('sequence', '=', sequence)
          .where('digest', 'is not', null)
          .execute()
      return rows.length
    })
}
