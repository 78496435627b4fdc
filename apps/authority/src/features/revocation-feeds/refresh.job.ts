import { DAY, type Instant, SECOND, readInstant, writeSortable } from '@chancery/protocol'
import { isDatabaseAway } from '../../database/open.ts'
import { forRevocations } from '../../database/room/for-revocations.ts'
import type { RevocationFeedsParts } from './feed-parts.ts'
import { type FeedCause, publishOwnFeed } from './publish.ts'
import { type OwnFeed, countPlainIds, findOwnFeed, hasPrunable, purgeRemovedFeeds } from './queries/own.ts'

/** Above this number of ids in the plain form, prunable ids cause a new version. */
const CROWDED = 45_000

/** How long sequence and digest of a version without its text are stored. */
const STORED_FOR = 400n * DAY

/** When the current version is signed again. */
export function refreshAt(parts: RevocationFeedsParts, feed: Pick<OwnFeed, 'issued_at'>): Instant {
  return (readInstant(feed.issued_at) ?? 0n) + BigInt(parts.settings.feedRefreshSeconds) * SECOND
}

/**
 * Returns the current feed. It is signed again when it is old, missing, or without parts (protocol/core 18.2). Checked
 * again under the lock, so that only one of several callers signs.
 */
export async function refreshFeedIfDue(parts: RevocationFeedsParts): Promise<OwnFeed> {
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
