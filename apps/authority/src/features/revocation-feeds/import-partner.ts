import { withSortedIds } from '@chancery/protocol'
import type { FeedIndex, FeedPart, JsonObject, RevocationFeed } from '@chancery/protocol'
import type { RevocationFeedsParts } from './feed-parts.ts'
import { renewFeed } from './peers.ts'
import { findLastImported, markComplete } from './queries/imported.ts'
import { concludeIndex, storeFeed, storeIds, storePart } from './store-imported.ts'

/**
 * Imports by standing order of an operator (protocol/between 6.6). The caller has verified the signature under keys
 * that an operator pinned. A jump of the sequence was refused before.
 */
export async function importPartnerFeed(parts: RevocationFeedsParts, feed: RevocationFeed): Promise<void> {
  await parts.database.write(async (tx) => {
    await tx.lock('imports')
    const stored = await storeFeed(tx, parts, feed, false)
    if (typeof stored !== 'string') {
      const ids = new Set(feed.revoked_attestation_ids).size
      const details = { ...identity(feed), feed_id: feed.feed_id, revoked_count: ids, complete: stored.complete }
      await parts.audit.record(tx, { type: 'sovereign_revocation_feed_imported', details })
      return
    }
    if (stored === 'stale_sequence') await renewFeed(tx, feed, parts.clock.now())
  })
}

/** Adds the ids of a second feed with the same sequence. */
export async function addPartnerIds(parts: RevocationFeedsParts, feed: RevocationFeed): Promise<void> {
  await parts.database.write(async (tx) => {
    await tx.lock('imports')
    const { issuer_sovereign_id: issuer, feed_id, sequence, revocation_reasons: reasons } = feed
    const { revoked_attestation_ids: ids } = withSortedIds(feed)
    await storeIds(tx, parts, { issuer, feed_id, sequence, ids, reasons })
    const details = { ...identity(feed), feed_id, revoked_count: ids.length }
    await parts.audit.record(tx, { type: 'sovereign_revocation_feed_imported', details })
  })
}

export async function importPartnerPart(parts: RevocationFeedsParts, index: FeedIndex, part: FeedPart): Promise<void> {
  await parts.database.write(async (tx) => {
    await tx.lock('imports')
    const stored = await storePart(tx, parts, index, part, false)
    if (typeof stored === 'string') return
    const revoked_count = part.revoked_attestation_ids.length
    const details = { ...identity(index), feed_id: index.index_id, revoked_count, part: part.part, complete: false }
    await parts.audit.record(tx, { type: 'sovereign_revocation_feed_imported', details })
  })
}

/** True when all parts of the index are imported. */
export async function concludePartnerIndex(parts: RevocationFeedsParts, index: FeedIndex): Promise<boolean> {
  return parts.database.write(async (tx) => {
    await tx.lock('imports')
    const before = await findLastImported(tx.query, index.issuer_sovereign_id)
    const isComplete = await concludeIndex(tx, parts, index)
    await renewFeed(tx, index, parts.clock.now())
    const isNew = before === undefined || before.sequence < index.sequence || before.complete === 0
    if (isComplete && isNew) {
      const details = { ...identity(index), feed_id: index.index_id, revoked_count: index.total_ids, complete: true }
      await parts.audit.record(tx, { type: 'sovereign_revocation_feed_imported', details })
    }
    return isComplete
  })
}

/** An issuer without an index has no ids besides those of its plain feed. */
export async function completePartnerFeed(
  parts: RevocationFeedsParts,
  issuer: string,
  sequence: number,
): Promise<boolean> {
  return parts.database.write(async (tx) => {
    await tx.lock('imports')
    await markComplete(tx, issuer, sequence)
    return true
  })
}

function identity(record: RevocationFeed | FeedIndex): JsonObject {
  const { issuer_sovereign_id, sequence } = record
  return { issuer_sovereign_id, sequence, trust_basis: 'partner_pinned_keys', partner: true }
}
