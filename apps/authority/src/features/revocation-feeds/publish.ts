import { Refusal } from '@chancery/contract'
import {
  MAX_FEED_BYTES,
  MAX_FEED_TOTAL_IDS,
  MAX_PART_BYTES,
  canonicalJson,
  nextPartBits,
  partKeysOf,
  readInstant,
  sha256Hex,
  writeInstant,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { FeedPart, FeedPartEntry, Instant, RevocationFeed } from '@chancery/protocol'
import type { RevocationFeedsParts } from './peers.ts'
import { requireCurrentKey } from '../../signing/current-key.ts'
import { dateAfter } from '../../clock/date-after.ts'
import { type Reader, type Transaction, assertStored } from '../../database/database.ts'
import { countOf } from '../../database/large-tables.ts'
import { cacheSigned } from './continuity.ts'
import { gatherIds } from './gather.ts'
import { FeedPieces } from './feed-text.ts'
import { type OwnFeed, findOwnFeedHead, insertOwnFeed, removeOldTexts } from './queries/own.ts'
import type { SyncedIds } from './own-ids.ts'

/** The parts of a version of the feed. */
export interface BuiltParts {
  readonly part_bits: number
  readonly total_ids: number
  readonly parts: readonly FeedPartEntry[]
}

/** Writes the changed parts, or all of them when their number changes. */
async function buildParts(tx: Transaction, issuer_sovereign_id: string, synced: SyncedIds): Promise<BuiltParts> {
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
  return nextPartBits(await countOf(tx.selectFrom('own_feed_ids').where('pruned', '=', 0)), 0)
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

/** Why a version was signed. */
export type FeedCause = 'revoke' | 'refresh' | 'prune'

/** After a recovery: the feed that was already published from the lost database, or dated by a clock that was ahead. */
export interface Least {
  readonly sequence: number
  readonly issuedAt: Instant
  readonly isRedated?: true
  /** Revocations were restored from a saved feed, so the latest feed in the database may be incomplete. */
  readonly isRecovered?: true
}

const NOTHING_BEFORE: Least = { sequence: 0, issuedAt: 0n }

/** Above this number of ids, an alarm reports that the feed will be full. */
export const NEARLY_FULL = MAX_FEED_TOTAL_IDS * 0.8

/** Number of versions whose texts are stored. Each new version removes two older texts, so that backlogs end. */
const STORED_TEXTS = 8
const REMOVED_AT_ONCE = 2

/**
 * Signs the next version of the own feed: the plain form with the newest ids, the index and the changed parts
 * (protocol/core 18.2, 18.4). Its sequence is one more than the last one, whatever the cause. The first sequence is the
 * number of ids. The caller has the lock of the feed.
 */
export async function publishOwnFeed(
  tx: Transaction,
  parts: RevocationFeedsParts,
  cause: FeedCause,
  least: Least = NOTHING_BEFORE,
): Promise<OwnFeed> {
  await requireCurrentKey(tx.query, parts)
  const previous = await findOwnFeedHead(tx.query)
  const { pieces, synced } = await gatherIds(tx, parts, previous, {
    isCompared: cause !== 'revoke',
    isRecovered: least.isRecovered === true,
  })
  const { total_ids, ...built } = await buildParts(tx, parts.network.name, synced)
  requireFreeSpace(parts, cause, total_ids)
  const sequence = Math.max(previous === undefined ? total_ids : previous.sequence + 1, least.sequence)
  const issuedAt = dateVersion(parts, previous, least)
  const issued = {
    issuer_sovereign_id: parts.network.name,
    sequence,
    issued_at: writeInstant(issuedAt),
    issued_by: parts.signing.keyId,
  }
  const feed_id = parts.ids.uuid()
  const feed_json = await signPlain(parts, { ...issued, feed_id }, pieces)
  const digest = sha256Hex(feed_json)
  const index = { index_id: parts.ids.uuid(), ...issued, total_ids, ...built, signatures: [] }
  const feed = {
    sequence,
    feed_json,
    feed_id,
    digest,
    ids: pieces.ids.length,
    issued_at: writeSortable(issuedAt),
    index_json: writeJson(await parts.signing.sign(index)),
    total_ids,
    cause,
  }
  await insertOwnFeed(tx, feed)
  cacheSigned(parts.keys, digest, { sequence, ids: pieces.ids, pieces })
  await removeOldTexts(tx, sequence - STORED_TEXTS, REMOVED_AT_ONCE)
  await tx.raiseVersion('feed')
  const details = { sequence, ids: pieces.ids.length, total_ids, cause }
  await parts.audit.record(tx, { type: 'revocation_feed_published', details })
  return feed
}

function dateVersion(
  parts: RevocationFeedsParts,
  previous: Pick<OwnFeed, 'issued_at'> | undefined,
  least: Least,
): Instant {
  if (least.isRedated === true) return parts.clock.now()
  const before = readInstant(previous?.issued_at ?? '') ?? 0n
  return dateAfter(parts, 'feed', before > least.issuedAt ? before : least.issuedAt)
}

/** Signs the canonical text, and appends the signature: the served text is canonical, too. */
async function signPlain(
  parts: RevocationFeedsParts,
  named: Pick<RevocationFeed, 'feed_id' | 'issuer_sovereign_id' | 'sequence' | 'issued_at' | 'issued_by'>,
  pieces: FeedPieces,
): Promise<string> {
  const { sequence, ...head } = named
  const texts = pieces.write(MAX_FEED_BYTES - FRAME_BYTES)
  const body = `${canonicalJson(head).slice(0, -1)},"revocation_reasons":${texts.revocation_reasons},"revoked_attestation_ids":${texts.revoked_attestation_ids},"sequence":${sequence}}`
  const signature = await parts.signing.signText(body)
  return `${body.slice(0, -1)},"signatures":[${signature}]}`
}

/** Upper bound for everything except ids and reasons, signature included. */
const FRAME_BYTES = 4096

/** A revocation that cannot be published is refused, because this sovereign and the others must agree. */
function requireFreeSpace(parts: RevocationFeedsParts, cause: FeedCause, total: number): void {
  if (total > NEARLY_FULL) parts.log.error('the revocation feed is nearly full or full', { alarm: true, ids: total })
  if (cause === 'revoke' && total > MAX_FEED_TOTAL_IDS) throw new Refusal('revocation_feed_full')
}
