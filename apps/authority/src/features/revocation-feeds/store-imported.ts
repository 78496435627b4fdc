import { setImmediate as nextTurn } from 'node:timers/promises'
import { MAX_FEED_IDS, asJson, withSortedIds, writeJson, writeSortable } from '@chancery/protocol'
import type { FeedIndex, FeedPart, RevocationFeed } from '@chancery/protocol'
import type { RevocationFeedsParts } from './peers.ts'
import type { Transaction } from '../../database/database.ts'
import { openCapacity } from './import-capacity.ts'
import {
  addImportedIds,
  dropOldTexts,
  findLastImported,
  cachePart,
  insertImportedFeed,
  insertRevocations,
  listStoredParts,
  markComplete,
} from './queries/imported.ts'
import type { RevokedId } from './queries/imported.ts'

/** A feed with a sequence near 2^53 must not block later feeds of its issuer permanently (protocol/core 18.3). */
const MAX_JUMP = 1_000_000

/** Ids that one statement stores. Other requests are served between two statements. */
const ROWS = 1000

export type ImportProblem = 'stale_sequence' | 'sequence_jump'

interface StoredRow {
  readonly complete: boolean
  readonly isJump: boolean
}

export function isJump(sequence: number, last: { readonly sequence: number } | undefined): boolean {
  return sequence - (last?.sequence ?? 0) > MAX_JUMP
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
  const jumps = isJump(sequence, last)
  if (jumps && !acceptJump) return 'sequence_jump'
  // Ids count as a set, in any order.
  const { revoked_attestation_ids, revocation_reasons: reasons } = withSortedIds(feed)
  const ids = revoked_attestation_ids.map((id) => withReason(id, reasons))
  const complete = ids.length < MAX_FEED_IDS
  await storeIds(tx, parts, { issuer, feed_id, sequence, ids })
  await storeFeedText(tx, parts, {
    issuer,
    sequence,
    feed_id,
    text: writeJson(asJson(feed)),
    ids: ids.length,
    complete,
  })
  return { complete, isJump: jumps }
}

/** The text of a feed or an index with a new sequence. */
export async function storeFeedText(
  tx: Transaction,
  parts: RevocationFeedsParts,
  given: {
    readonly issuer: string
    readonly sequence: number
    readonly feed_id: string
    readonly text: string
    readonly ids: number
    readonly complete: boolean
  },
): Promise<void> {
  await insertImportedFeed(tx, {
    issuer_sovereign_id: given.issuer,
    sequence: given.sequence,
    feed_id: given.feed_id,
    feed_json: given.text,
    revoked_count: given.ids,
    imported_at: writeSortable(parts.clock.now()),
    complete: given.complete ? 1 : 0,
  })
  await nextTurn()
  await dropOldTexts(tx, parts.database, given.issuer)
  await tx.raiseVersion('imports')
}

/** Stores one part. The sequence of the issuer advances when all parts are stored. */
export async function storePart(
  tx: Transaction,
  parts: RevocationFeedsParts,
  index: FeedIndex,
  part: FeedPart,
  acceptJump: boolean,
): Promise<StoredRow | ImportProblem> {
  const { issuer_sovereign_id: issuer, sequence, index_id } = index
  const last = await findLastImported(tx.query, issuer)
  const isStale =
    last !== undefined && (sequence < last.sequence || (sequence === last.sequence && last.complete === 1))
  if (isStale) return 'stale_sequence'
  const jumps = isJump(sequence, last)
  if (jumps && !acceptJump) return 'sequence_jump'
  const ids = part.revoked_attestation_ids.map((id) => withReason(id, part.revocation_reasons))
  await storeIds(tx, parts, { issuer, feed_id: index_id, sequence, ids })
  await recordPart(tx, index, part.part)
  return { complete: false, isJump: jumps }
}

/** Records that all ids of a part are stored. */
export async function recordPart(tx: Transaction, index: FeedIndex, part: number): Promise<void> {
  const { issuer_sovereign_id, part_bits } = index
  await cachePart(tx, { issuer_sovereign_id, part_bits, part, digest: index.parts[part]?.digest ?? '' })
}

/**
 * Complete when every part of the index is stored. The issuer is then imported up to this sequence. A lower sequence
 * changes nothing: the ids are stored, and the imported sequence never falls.
 */
export async function concludeIndex(
  tx: Transaction,
  parts: RevocationFeedsParts,
  index: FeedIndex,
  acceptJump: boolean,
): Promise<{ readonly complete: boolean } | 'sequence_jump'> {
  const { issuer_sovereign_id: issuer, sequence, index_id, part_bits, total_ids } = index
  const last = await findLastImported(tx.query, issuer)
  if (isJump(sequence, last) && !acceptJump) return 'sequence_jump'
  const stored = await listStoredParts(tx.query, issuer, part_bits)
  if (!index.parts.every(({ part, digest }) => stored.get(part) === digest)) return { complete: false }
  if (last === undefined || last.sequence < sequence)
    await storeFeedText(tx, parts, {
      issuer,
      sequence,
      feed_id: index_id,
      text: writeJson(asJson(index)),
      ids: total_ids,
      complete: true,
    })
  else if (last.sequence === sequence && last.complete === 0) {
    await markComplete(tx, issuer, sequence)
    await tx.raiseVersion('imports')
  }
  return { complete: true }
}

interface SubmittedIds {
  readonly issuer: string
  readonly feed_id: string
  readonly sequence: number
  readonly ids: readonly RevokedId[]
}

/** Adds ids. Returns how many of them are new. Refused before the first one that has no room is written. */
export async function storeIds(tx: Transaction, parts: RevocationFeedsParts, given: SubmittedIds): Promise<number> {
  const { issuer: issuer_sovereign_id, feed_id, sequence, ids } = given
  const imported_at = writeSortable(parts.clock.now())
  const capacity = await openCapacity(tx, parts, issuer_sovereign_id)
  for (let at = 0; at < ids.length; at += ROWS) {
    if (at > 0) await nextTurn()
    const some = ids.slice(at, at + ROWS)
    await capacity.require(some.map(([id]) => id))
    const named = { issuer_sovereign_id, feed_id, sequence, imported_at }
    capacity.add(await insertRevocations(tx, parts.database, named, some))
  }
  await addImportedIds(tx, issuer_sovereign_id, capacity.added)
  if (capacity.added > 0) await tx.raiseVersion('imports')
  return capacity.added
}

function withReason(id: string, reasons: { readonly [id: string]: string }): RevokedId {
  return [id, Object.hasOwn(reasons, id) ? (reasons[id] ?? null) : null]
}
