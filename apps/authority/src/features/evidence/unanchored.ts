import type { Tx } from '../../database/database.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { findLatestAnchor } from './queries/entries.ts'

export interface Unanchored {
  readonly entries: number
  /** When the oldest of them was recorded, as stored; undefined when there is none. */
  readonly since: string | undefined
}

/** What could be rewritten without an anchor to show it; two rows by their keys, however long the store is. */
export async function measureUnanchored(db: Tx): Promise<Unanchored> {
  const head = await readEvidenceHead(db)
  const anchored = Math.max((await findLatestAnchor(db))?.store_sequence ?? 0, head.removed_through)
  if (head.last_sequence <= anchored) return { entries: 0, since: undefined }
  const oldest = await db
    .selectFrom('evidence_entries')
    .select('recorded_at')
    .where('store_sequence', '>', anchored)
    .orderBy('store_sequence')
    .limit(1)
    .executeTakeFirst()
  return { entries: head.last_sequence - anchored, since: oldest?.recorded_at }
}
