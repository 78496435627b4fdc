import { MAX_FEED_IDS, readInstant } from '@chancery/protocol'
import type { RevocationFeedsParts } from './feed-parts.ts'
import type { Reader, Transaction } from '../../database/database.ts'
import { readSignedFeed, requireRevoked } from './continuity.ts'
import { syncFeedIds } from './own-ids.ts'
import type { SyncedIds } from './own-ids.ts'
import { listStoredIds, listNewestIds } from './queries.ts'
import type { ListedId, OwnFeed } from './queries.ts'

/** The ids of the next version. */
export interface NextIds {
  readonly newest: readonly ListedId[]
  readonly synced: SyncedIds
}

/**
 * Updates the ids of the feed. Between two full comparisons only revocations since the last version are searched. When
 * the last version names an id that the table lacks, everything is compared. Unless the rows were just recovered,
 * nothing is signed when an id of the last signed version is no longer revoked.
 */
export async function gatherIds(
  tx: Transaction,
  parts: RevocationFeedsParts,
  previous: OwnFeed | undefined,
  { isCompared, isRecovered }: { readonly isCompared: boolean; readonly isRecovered: boolean },
): Promise<NextIds> {
  const isPartial = !isCompared && previous !== undefined && previous.index_json !== null
  const since = isPartial ? (readInstant(previous.issued_at) ?? 0n) : undefined
  let synced = await syncFeedIds(tx, parts, since)
  let newest = await listNewestIds(tx.query, MAX_FEED_IDS)
  const last = previous === undefined ? undefined : await readSignedFeed(parts.keys, previous)
  if (isPartial && last !== undefined && (await hasUnknown(tx.query, last.revoked_attestation_ids, newest))) {
    synced = joined(synced, await syncFeedIds(tx, parts, undefined))
    newest = await listNewestIds(tx.query, MAX_FEED_IDS)
  }
  if (previous !== undefined && !isRecovered) await requireRevoked(tx.query, parts, last, newest)
  return { newest, synced }
}

async function hasUnknown(tx: Reader, ids: readonly string[], newest: readonly ListedId[]): Promise<boolean> {
  const named = new Set(newest.map((row) => row.attestation_id))
  const missing = ids.filter((id) => !named.has(id))
  return (await listStoredIds(tx, missing)).size < missing.length
}

function joined(a: SyncedIds, b: SyncedIds): SyncedIds {
  return {
    added: a.added + b.added,
    removed: a.removed + b.removed,
    touched: new Set([...a.touched, ...b.touched]),
  }
}
