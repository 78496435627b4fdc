import { MAX_PART_BYTES, canonicalJson, nextPartBits, partKeysOf, sha256Hex } from '@chancery/protocol'
import type { FeedPart, FeedPartEntry } from '@chancery/protocol'
import type { Reader, Transaction } from '../../database/database.ts'
import { assertStored } from '../../database/assert-stored.ts'
import { FeedPieces } from './feed-text.ts'
import type { SyncedIds } from './own-ids.ts'

/** The parts of a version of the feed. */
export interface BuiltParts {
  readonly part_bits: number
  readonly total_ids: number
  readonly parts: readonly FeedPartEntry[]
}

/** Writes the changed parts, or all of them when their number changes. */
export async function buildParts(tx: Transaction, issuer_sovereign_id: string, synced: SyncedIds): Promise<BuiltParts> {
  const stored = await tx.query
    .selectFrom('own_feed_parts')
    .select(['part', 'count', 'digest'])
    .orderBy('part')
    .execute()
  const bits = Math.log2(stored.length)
  const isUsable = stored.length > 0 && Number.isInteger(bits)
  const total = stored.reduce((sum, { count }) => sum + count, 0) + synced.added - synced.removed
  const part_bits = isUsable ? nextPartBits(total, bits) : await firstBits(tx.query)
  const isWhole = !isUsable || part_bits !== bits
  const wanted = isWhole
    ? Array.from({ length: 2 ** part_bits }, (_, part) => part)
    : [...new Set([...synced.touched].map((key) => key >>> (8 - part_bits)))]
  const entries = new Map(isWhole ? [] : stored.map((entry) => [entry.part, entry]))
  for (const part of wanted) entries.set(part, await writePart(tx, { issuer_sovereign_id, part, part_bits }))
  if (isWhole)
    await tx.query
      .deleteFrom('own_feed_parts')
      .where('part', '>=', 2 ** part_bits)
      .execute()
  const parts = [...entries.values()].sort((a, b) => a.part - b.part)
  return { part_bits, parts, total_ids: parts.reduce((sum, { count }) => sum + count, 0) }
}

async function firstBits(tx: Reader): Promise<number> {
  const row = await tx
    .selectFrom('own_feed_ids')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('pruned', '=', 0)
    .executeTakeFirst()
  return nextPartBits(Number(row?.count ?? 0), 0)
}

/** Of the two members with ids, their separators, and the end. */
const NAMES_BYTES = 60

async function writePart(
  tx: Transaction,
  named: Pick<FeedPart, 'issuer_sovereign_id' | 'part' | 'part_bits'>,
): Promise<FeedPartEntry> {
  const [from, below] = partKeysOf(named.part, named.part_bits)
  const rows = await tx.query
    .selectFrom('own_feed_ids')
    .select(['attestation_id', 'revoked_at', 'reason'])
    .where('pruned', '=', 0)
    .where('part_key', '>=', from)
    .where('part_key', '<', below)
    .execute()
  const { issuer_sovereign_id, part, part_bits } = named
  // The served text is the hashed one.
  const head = `{"issuer_sovereign_id":${canonicalJson(issuer_sovereign_id)},"part":${part},"part_bits":${part_bits}`
  const texts = new FeedPieces(rows).write(MAX_PART_BYTES - head.length - NAMES_BYTES)
  const part_json = `${head},"revocation_reasons":${texts.revocation_reasons},"revoked_attestation_ids":${texts.revoked_attestation_ids}}`
  const entry = { part, count: rows.length, digest: sha256Hex(part_json) }
  const saved = await tx.query
    .insertInto('own_feed_parts')
    .values({ ...entry, part_json })
    .onConflict((conflict) =>
      conflict.column('part').doUpdateSet({ count: entry.count, digest: entry.digest, part_json }),
    )
    .returning('part_json')
    .executeTakeFirst()
  assertStored(part_json, saved?.part_json)
  return entry
}
