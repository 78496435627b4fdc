import { MAX_FEED_IDS, readInstant } from '@chancery/protocol'
import type { RevocationFeedsParts } from './peers.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { dropCached, findPieces, readSignedFeed, requireRevoked } from './continuity.ts'
import { FeedPieces } from './feed-text.ts'
import { type SyncedIds, syncFeedIds } from './own-ids.ts'
import { countNewestIds, findOwnFeed, listNewestIds, listStoredIds } from './queries/own.ts'
import type { ListedId, OwnFeed } from './queries/own.ts'

/** The ids of the next version. */
export interface NextIds {
  readonly pieces: FeedPieces
  readonly synced: SyncedIds
}

/**
 * Updates the ids of the feed. Between two full comparisons only revocations since the last version are searched, and
 * added to the ids of the last version. When the database has another number of ids, all are read.
 */
export async function gatherIds(
  tx: Transaction,
  parts: RevocationFeedsParts,
  previous: Omit<OwnFeed, 'feed_json'> | undefined,
  { isCompared, isRecovered }: { readonly isCompared: boolean; readonly isRecovered: boolean },
): Promise<NextIds> {
  const isPartial = !isCompared && previous !== undefined && previous.index_json !== null
  const since = isPartial ? (readInstant(previous.issued_at) ?? 0n) : undefined
  const synced = await syncFeedIds(tx, parts, since)
  const known = isPartial && !isRecovered ? findPieces(parts.keys, previous) : undefined
  const pieces = known === undefined ? undefined : await addToPieces(tx.query, parts, known, synced)
  return pieces === undefined ? gatherAll(tx, parts, synced, { isPartial, isRecovered }) : { pieces, synced }
}

/** Adds few new ids to the pieces of the last version. Undefined when the database has other ids. */
async function addToPieces(
  tx: Reader,
  parts: RevocationFeedsParts,
  pieces: FeedPieces,
  { added, addedIds, removed }: SyncedIds,
): Promise<FeedPieces | undefined> {
  if (removed > 0 || added !== addedIds.length) return undefined
  const { listed, withdrawn } = await countNewestIds(tx, MAX_FEED_IDS)
  if (listed !== withdrawn || listed !== Math.min(pieces.ids.length + added, MAX_FEED_IDS)) return undefined
  dropCached(parts.keys)
  for (const row of addedIds) {
    if (!pieces.add(row)) return undefined
    if (pieces.ids.length > MAX_FEED_IDS) pieces.removeOldest()
  }
  return pieces
}

/**
 * Reads all ids. When the last version names an id that the table lacks, everything is compared. Unless the rows were
 * just recovered, nothing is signed when an id of the last signed version is no longer revoked.
 */
async function gatherAll(
  tx: Transaction,
  parts: RevocationFeedsParts,
  firstSynced: SyncedIds,
  { isPartial, isRecovered }: { readonly isPartial: boolean; readonly isRecovered: boolean },
): Promise<NextIds> {
  let synced = firstSynced
  let newest = await listNewestIds(tx.query, MAX_FEED_IDS)
  const previous = await findOwnFeed(tx.query)
  const last = previous === undefined ? undefined : await readSignedFeed(parts.keys, previous)
  if (isPartial && last !== undefined && (await hasUnknown(tx.query, last.ids, newest))) {
    synced = joined(synced, await syncFeedIds(tx, parts, undefined))
    newest = await listNewestIds(tx.query, MAX_FEED_IDS)
  }
  if (previous !== undefined && !isRecovered) await requireRevoked(tx.query, parts, last, newest)
  return { pieces: new FeedPieces(newest), synced }
}

async function hasUnknown(tx: Reader, ids: readonly string[], newest: readonly ListedId[]): Promise<boolean> {
  const named = new Set(newest.map((row) => row.attestation_id))
  const missing = ids.filter((id) => !named.has(id))
  return (await listStoredIds(tx, missing)).size < missing.length
}

function joined(a: SyncedIds, b: SyncedIds): SyncedIds {
  return {
    added: a.added + b.added,
    addedIds: [],
    removed: a.removed + b.removed,
    touched: new Set([...a.touched, ...b.touched]),
  }
}
