import { readEvidenceHead } from '../../store/evidence-chain.ts'
import type { Tx } from '../../store/database.ts'

export interface LogState {
  readonly size: number
  readonly note: string
}

export async function findLog(db: Tx): Promise<LogState | undefined> {
  const row = await db
    .selectFrom('evidence_log_checkpoints')
    .select(['tree_size', 'note'])
    .orderBy('tree_size', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? undefined : { size: row.tree_size, note: row.note }
}

/** Only the newest is kept here: old ones matter where others hold them. */
export async function keepCheckpoint(tx: Tx, size: number, note: string, signed_at: string): Promise<void> {
  await tx.deleteFrom('evidence_log_checkpoints').execute()
  await tx.insertInto('evidence_log_checkpoints').values({ tree_size: size, note, signed_at }).execute()
}

/** Digests behind a place, in store order. */
export async function readDigests(db: Tx, after: number, limit: number): Promise<readonly string[]> {
  const rows = await db
    .selectFrom('evidence_entries')
    .select(['store_sequence', 'entry_digest'])
    .where('store_sequence', '>', after)
    .orderBy('store_sequence')
    .limit(limit)
    .execute()
  // A leaf stands at its sequence: one that is missing must not move the others.
  const isWhole = rows.every((row, at) => row.store_sequence === after + 1 + at)
  if (!isWhole) throw new Error('entries are missing before they entered the log')
  return rows.map((row) => row.entry_digest)
}

export async function findTile(db: Tx, level: number, tile: number): Promise<Uint8Array | undefined> {
  const row = await db
    .selectFrom('evidence_log_tiles')
    .select('hashes')
    .where('level', '=', level)
    .where('tile', '=', tile)
    .executeTakeFirst()
  return row === undefined ? undefined : new Uint8Array(row.hashes)
}

export async function keepTile(tx: Tx, level: number, tile: number, hashes: Uint8Array): Promise<void> {
  const bytes = Buffer.from(hashes)
  await tx
    .insertInto('evidence_log_tiles')
    .values({ level, tile, hashes: bytes })
    .onConflict((conflict) => conflict.columns(['level', 'tile']).doUpdateSet({ hashes: bytes }))
    .execute()
}

/** Lines of one bundle; empty unless all of them are kept and visible. */
export async function readBundle(db: Tx, first: number, count: number): Promise<readonly string[]> {
  const { removed_through } = await readEvidenceHead(db)
  if (first <= removed_through) return []
  const rows = await db
    .selectFrom('evidence_entries')
    .select('line')
    .where('store_sequence', '>=', first)
    .where('store_sequence', '<', first + count)
    .orderBy('store_sequence')
    .execute()
  return rows.length === count ? rows.map((row) => row.line) : []
}
