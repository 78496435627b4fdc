import { type ChainedEntry, readEventLine } from '@chancery/protocol'
import { readEvidenceHead } from '../evidence/index.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import type { RecentEntries } from './identity.ts'

export interface LogState {
  readonly size: number
  readonly note: string
}

export async function findLog(db: Reader): Promise<LogState | undefined> {
  const row = await db
    .selectFrom('evidence_log_checkpoints')
    .select(['tree_size', 'note'])
    .orderBy('tree_size', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? undefined : { size: row.tree_size, note: row.note }
}

/** Only the newest is stored here. Old ones matter where other parties saved them. */
export async function storeCheckpoint(tx: Transaction, size: number, note: string, signed_at: string): Promise<void> {
  await tx.query.deleteFrom('evidence_log_checkpoints').execute()
  await tx.query.insertInto('evidence_log_checkpoints').values({ tree_size: size, note, signed_at }).execute()
}

/** Maximum number of leaves in one transaction, and of lines from other instances, whose reading takes milliseconds. */
const MAX_LEAVES = 1024
const MAX_READ = 256

/**
 * Returns the digests of a complete range of entries in store order. Each is computed from its line and compared with
 * line and column, because the checkpoint over them is signed, and a wrong leaf cannot be removed from the log.
 */
export async function readLeaves(
  db: Reader,
  { after, last: lastEntry }: { readonly after: number; readonly last: number },
  appended: RecentEntries,
): Promise<readonly string[]> {
  const isOwn = appended.find(after + 1) !== undefined
  const through = Math.min(after + (isOwn ? MAX_LEAVES : MAX_READ), lastEntry)
  const rows = await db
    .selectFrom('evidence_entries')
    .select(['store_sequence', 'entry_digest', 'line'])
    // Reads one entry more, to which the first is linked. Retention may have removed it.
    .where('store_sequence', '>=', after)
    .where('store_sequence', '<=', through)
    .orderBy('store_sequence')
    .execute()
  const leaves: string[] = []
  let [last, read] = [rows[0]?.store_sequence === after ? rows[0].entry_digest : undefined, 0]
  for (const { store_sequence, entry_digest, line } of rows) {
    if (store_sequence === after) continue
    const expected = after + 1 + leaves.length
    // The position of a leaf is its sequence. A missing leaf must not move the others.
    if (store_sequence !== expected) throw missing(expected)
    const own = appended.find(expected)
    const isOurs = own?.line === line
    if (!isOurs && (read += 1) > MAX_READ) return leaves
    const link = isOurs ? linkOf(own) : readLink(line)
    if (link?.digest !== entry_digest || !follows(link, expected, last))
      throw new Error(`entry ${expected} is not the appended one`)
    leaves.push(entry_digest)
    last = entry_digest
  }
  // The log must not end before the store does. Otherwise it would be signed again every time and never be complete.
  if (after + leaves.length < through) throw missing(after + 1 + leaves.length)
  return leaves
}

function missing(sequence: number): Error {
  return new Error(`entry ${sequence} is missing before it entered the log`)
}

/** The sequence of a line and the digest of its predecessor, after checking its own digest. */
interface Link {
  readonly digest: string
  readonly sequence: number
  readonly previous: string | null
}

function linkOf({ entry, entry_digest }: ChainedEntry): Link {
  return { digest: entry_digest, sequence: entry.store_sequence, previous: entry.prev_entry_digest }
}

/** Undefined unless the line is canonical and both of its digests are right. */
function readLink(line: string): Link | undefined {
  const event = readEventLine(line)
  if (event?.canonical !== true || event.claimedDigest !== event.entryDigest) return undefined
  if (event.entry.payload_digest !== event.payloadDigest) return undefined
  return linkOf({ entry: event.entry, entry_digest: event.entryDigest, line })
}

function follows({ sequence, previous }: Link, expected: number, last: string | undefined): boolean {
  if (sequence !== expected) return false
  return last === undefined ? sequence > 1 || previous === null : previous === last
}

export async function findTile(db: Reader, level: number, tile: number): Promise<Uint8Array | undefined> {
  const row = await db
    .selectFrom('evidence_log_tiles')
    .select('hashes')
    .where('level', '=', level)
    .where('tile', '=', tile)
    .executeTakeFirst()
  return row === undefined ? undefined : new Uint8Array(row.hashes)
}

export async function storeTile(tx: Transaction, level: number, tile: number, hashes: Uint8Array): Promise<void> {
  const bytes = Buffer.from(hashes)
  await tx.query
    .insertInto('evidence_log_tiles')
    .values({ level, tile, hashes: bytes })
    .onConflict((conflict) => conflict.columns(['level', 'tile']).doUpdateSet({ hashes: bytes }))
    .execute()
}

/** Lines of one bundle. Empty unless all of them are stored and visible. */
export async function readBundle(db: Reader, first: number, count: number): Promise<readonly string[]> {
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

/** Digests of one bundle, in the order of the log. Fewer when some of them are removed. */
export async function readDigests(db: Reader, first: number, count: number): Promise<readonly string[]> {
  const { removed_through } = await readEvidenceHead(db)
  if (first <= removed_through) return []
  const rows = await db
    .selectFrom('evidence_entries')
    .select('entry_digest')
    .where('store_sequence', '>=', first)
    .where('store_sequence', '<', first + count)
    .orderBy('store_sequence')
    .execute()
  return rows.map((row) => row.entry_digest)
}

/** The place of a decision in the store, and its digest. */
export async function findDecisionEntry(
  db: Reader,
  decision_id: string,
): Promise<{ readonly store_sequence: number; readonly entry_digest: string } | undefined> {
  const { removed_through } = await readEvidenceHead(db)
  return db
    .selectFrom('evidence_entries')
    .select(['store_sequence', 'entry_digest'])
    .where('entry_kind', '=', 'decision')
    .where('decision_id', '=', decision_id)
    .where('store_sequence', '>', removed_through)
    .executeTakeFirst()
}
