import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { DAY, type Instant, SECOND, readInstant, seconds, toUtf8, writeSortable } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import type { RevocationFeedsParts } from './peers.ts'
import { type OwnFeed, countPlainIds, findOwnFeed, hasPrunable, purgeRemovedFeeds } from './queries/own.ts'
import { isDatabaseAway } from '../../database/open.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import { type FeedCause, publishOwnFeed } from './publish.ts'
import type { DocumentSource } from '../../requests/published-documents.ts'

/** Above this number of ids in the plain form, prunable ids cause a new version. */
const CROWDED = 45_000

/** How long sequence and digest of a version without its text are stored. */
const STORED_FOR = 400n * DAY

/** When the current version is signed again. */
function refreshAt(parts: RevocationFeedsParts, feed: Pick<OwnFeed, 'issued_at'>): Instant {
  return (readInstant(feed.issued_at) ?? 0n) + BigInt(parts.settings.feedRefreshSeconds) * SECOND
}

/**
 * Returns the current feed. It is signed again when it is old, missing, or without parts (protocol/core 18.2). Checked
 * again under the lock, so that only one of several callers signs.
 */
async function refreshFeedIfDue(parts: RevocationFeedsParts): Promise<OwnFeed> {
  const before = await findOwnFeed(parts.database.read)
  if (before !== undefined && (!parts.signing.isAllowed() || !isDue(parts, before))) return before
  return publishWhere(parts, 'refresh', (stored) => stored === undefined || isDue(parts, stored))
}

function isDue(parts: RevocationFeedsParts, feed: OwnFeed): boolean {
  return feed.index_json === null || parts.clock.now() >= refreshAt(parts, feed)
}

function publishWhere(
  given: RevocationFeedsParts,
  cause: FeedCause,
  isNeeded: (stored: OwnFeed | undefined) => boolean,
): Promise<OwnFeed> {
  const parts = forRevocations(given)
  return parts.database.write(async (tx) => {
    await tx.lock('feed')
    const stored = await findOwnFeed(tx.query)
    return stored !== undefined && !isNeeded(stored) ? stored : publishOwnFeed(tx, parts, cause)
  })
}

/** Every minute, so that an unread feed does not become old, and a full one is pruned. */
export async function refreshFeed(parts: RevocationFeedsParts, signal: AbortSignal): Promise<void> {
  if (!parts.signing.isAllowed()) return
  try {
    const feed = await refreshFeedIfDue(parts)
    if ((await countPlainIds(parts.database.read, CROWDED + 1)) > CROWDED && (await isPrunable(parts)))
      await publishWhere(parts, 'prune', (stored) => stored?.sequence === feed.sequence)
  } catch (error) {
    // Nothing is known about the feed, and the instance reports that it is not ready.
    if (await isDatabaseAway(error, parts.database)) throw error
    parts.metrics.feedPublishFailures.increase()
    parts.log.error('cannot sign the revocation feed', { alarm: true, error })
    throw error
  }
  // By an accepted clock: one that is ahead must not remove digests early, which show two histories of the feed.
  await purgeRemovedFeeds(parts.database, writeSortable(parts.purgeClock.daily.now() - STORED_FOR), signal)
}

function isPrunable(parts: RevocationFeedsParts): Promise<boolean> {
  const now = parts.clock.now()
  const margin = BigInt(parts.settings.feedPruneMarginSeconds) * SECOND
  return hasPrunable(parts.database.read, { known: writeSortable(now - margin), unknown: writeSortable(now) })
}

/** After a failure to sign a feed, requests wait this long before the next attempt. */
const TRY_AGAIN = seconds(10)

/**
 * GET /sovereign-revocation-feed
 * Returns the revoked attestations of this sovereign, as one signed list for other sovereigns to import.
 */
export async function current(call: Call, parts: RevocationFeedsParts): Promise<CachedDocument> {
  const asked = call.query.first('issuer_sovereign_id')
  if (asked !== undefined && asked !== parts.network.name) throw new Refusal('feed_issuer_mismatch')
  return serveFeed(parts)
}

export function serveFeed(parts: RevocationFeedsParts): Promise<CachedDocument> {
  return parts.publishedDocuments.serve(parts, 'feed', feedSource(parts, toPlainDocument))
}

function toPlainDocument({ feed_json, total_ids }: OwnFeed): CachedDocument {
  const headers = total_ids === null ? {} : { 'Chancery-Feed-Total': String(total_ids) }
  return new CachedDocument(toUtf8(feed_json), CACHE_CONTROL.publishedDocuments, undefined, undefined, headers)
}

/** Returns a document of the current version. The first request for an old version has it signed again. */
function feedSource(parts: RevocationFeedsParts, toDocument: (feed: OwnFeed) => CachedDocument): DocumentSource {
  return {
    load: async () => {
      const feed = await loadCurrent(parts)
      const [due, now] = [refreshAt(parts, feed), parts.clock.now()]
      const at = due > now ? due : now + TRY_AGAIN
      return { document: toDocument(feed), times: { refreshAt: at, gatherAt: at } }
    },
    isDue: ({ times }, _versions, now) => times !== undefined && now >= times.refreshAt && parts.signing.isAllowed(),
  }
}

/** A feed that cannot be signed again is still served, because its ids stay revoked. */
async function loadCurrent(parts: RevocationFeedsParts): Promise<OwnFeed> {
  try {
    return await refreshFeedIfDue(parts)
  } catch (error) {
    const stored = await findOwnFeed(parts.database.read)
    if (stored === undefined) throw error
    parts.metrics.feedPublishFailures.increase()
    parts.log.error('cannot sign the revocation feed again', { alarm: true, error })
    return stored
  }
}

/**
 * GET /sovereign-revocation-feed/index
 * Returns the signed index of the current feed: its parts, with the digest of each.
 */
export async function index(_call: Call, parts: RevocationFeedsParts): Promise<CachedDocument> {
  return serveIndex(parts)
}

export function serveIndex(parts: RevocationFeedsParts): Promise<CachedDocument> {
  return parts.publishedDocuments.serve(parts, 'feed', feedSource(parts, toIndexDocument), { name: 'feed-index' })
}

/** A version without parts, of an earlier release, which cannot be signed again now. */
function toIndexDocument({ index_json }: OwnFeed): CachedDocument {
  if (index_json === null) throw new Refusal('service_unavailable', { reason: 'feed_index_missing' })
  return new CachedDocument(toUtf8(index_json), CACHE_CONTROL.publishedDocuments)
}
