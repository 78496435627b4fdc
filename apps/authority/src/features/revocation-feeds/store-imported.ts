import { Refusal } from '@chancery/contract'
import { MAX_FEED_IDS, asJson, withSortedIds, writeJson, writeSortable } from '@chancery/protocol'
import type { FeedIndex, FeedPart, RevocationFeed } from '@chancery/protocol'
import type { RevocationFeedsParts } from './feed-parts.ts'
import type { Transaction } from '../../database/database.ts'
import {
  addImportedIds,
  dropOldTexts,
  findLastImported,
  cachePart,
  insertImportedFeed,
  insertRevocations,
  listStoredParts,
  markComplete,
  sumImportedIds,
} from './queries/imported.ts'

/** A feed with a sequence near 2^53 must not block later feeds of its issuer permanently (protocol/core 18.3). */
const MAX_JUMP = 1_000_000

/** Maximum number of stored ids of one issuer, and of all. */
const MAX_ISSUER_IDS = 2_000_000
const MAX_ALL_IDS = 10_000_000

export type ImportProblem = 'stale_sequence' | 'sequence_jump'

interface StoredRow {
  readonly complete: boolean
  readonly isJump: boolean
}

/** Stores a plain feed. The caller has the lock of imports. A feed below 50,000 ids is complete. */
export async function storeFeed(
  tx: Transaction,
  parts: RevocationFeedsParts,
  feed: RevocationFeed,
  acceptJump: boolean,
): Promise<StoredRow | ImportProblem> {
  const { issuer_sovereign_id: issuer, sequence, feed_id } = feed
  const last = await findLastImported(tx.query, issuer)
  if (last !== undefined && sequence <= last.sequence) return 'stale_sequence'
  const isJump = sequence - (last?.sequence ?? 0) > MAX_JUMP
  if (isJump && !acceptJump) return 'sequence_jump'
  // Ids count as a set, in any order.
  const { revoked_attestation_ids: ids } = withSortedIds(feed)
  const complete = ids.length < MAX_FEED_IDS
  await insertImportedFeed(tx, {
    issuer_sovereign_id: issuer,
    sequence,
    feed_id,
    feed_json: writeJson(asJson(feed)),
    revoked_count: ids.length,
    imported_at: writeSortable(parts.clock.now()),
    complete: complete ? 1 : 0,
  })
  await storeIds(tx, parts, { issuer, feed_id, sequence, ids, reasons: feed.revocation_reasons })
  await dropOldTexts(tx, issuer)
  return { complete, isJump }
}

/** Stores one part. The sequence of the issuer advances when all parts are stored. */
export async function storePart(
  tx: Transaction,
  parts: RevocationFeedsParts,
  index: FeedIndex,
  part: FeedPart,
  acceptJump: boolean,
): Promise<StoredRow | ImportProblem> {
  const { issuer_sovereign_id: issuer, sequence, index_id, part_bits } = index
  const last = await findLastImported(tx.query, issuer)
  const isStale =
    last !== undefined && (sequence < last.sequence || (sequence === last.sequence && last.complete === 1))
  if (isStale) return 'stale_sequence'
  const isJump = sequence - (last?.sequence ?? 0) > MAX_JUMP
  if (isJump && !acceptJump) return 'sequence_jump'
  const { revoked_attestation_ids: ids, revocation_reasons: reasons } = part
  await storeIds(tx, parts, { issuer, feed_id: index_id, sequence, ids, reasons })
  const digest = index.parts[part.part]?.digest ?? ''
  await cachePart(tx, { issuer_sovereign_id: issuer, part_bits, part: part.part, digest })
  return { complete: false, isJump }
}

/** True when every part of the index is stored. The issuer is then imported up to this sequence. */
export async function concludeIndex(tx: Transaction, parts: RevocationFeedsParts, index: FeedIndex): Promise<boolean> {
  const { issuer_sovereign_id: issuer, sequence, index_id, part_bits, total_ids } = index
  const stored = await listStoredParts(tx.query, issuer, part_bits)
  if (!index.parts.every(({ part, digest }) => stored.get(part) === digest)) return false
  const last = await findLastImported(tx.query, issuer)
  if (last !== undefined && last.sequence > sequence) return false
  if (last?.sequence === sequence) await markComplete(tx, issuer, sequence)
  else
    await insertImportedFeed(tx, {
      issuer_sovereign_id: issuer,
      sequence,
      feed_id: index_id,
      feed_json: writeJson(asJson(index)),
      revoked_count: total_ids,
      imported_at: writeSortable(parts.clock.now()),
      complete: 1,
    })
  await dropOldTexts(tx, issuer)
  await tx.raiseVersion('imports')
  return true
}

interface SubmittedIds {
  readonly issuer: string
  readonly feed_id: string
  readonly sequence: number
  readonly ids: readonly string[]
  readonly reasons: { readonly [id: string]: string }
}

export async function storeIds(tx: Transaction, parts: RevocationFeedsParts, given: SubmittedIds): Promise<void> {
  const { issuer: issuer_sovereign_id, feed_id, sequence, ids, reasons } = given
  const imported_at = writeSortable(parts.clock.now())
  const rows = ids.map((attestation_id) => {
    const reason = Object.hasOwn(reasons, attestation_id) ? (reasons[attestation_id] ?? null) : null
    return { issuer_sovereign_id, attestation_id, feed_id, sequence, reason, imported_at }
  })
  const total = await addImportedIds(tx, issuer_sovereign_id, await insertRevocations(tx, rows))
  // Refused as a whole: a dropped revocation would make its attestation count again.
  if (total > MAX_ISSUER_IDS || (await sumImportedIds(tx.query)) > MAX_ALL_IDS) {
    parts.log.error('too many imported revocations', { alarm: true, issuer_sovereign_id, ids: total })
    throw new Refusal('import_capacity', { issuer_sovereign_id })
  }
  await tx.raiseVersion('imports')
}
