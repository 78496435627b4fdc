import { SECOND, readInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { mayMakeSignatures } from '../../signing/seal.ts'
import { writeSortable } from '@chancery/protocol'
import { publishOwnFeed } from './publish.ts'
import type { FeedCause } from './publish.ts'
import { countPlainIds, findOwnFeed, hasPrunable, purgeRemovedFeeds } from './store.ts'
import type { OwnFeed } from './store.ts'

/** Above so many ids in the plain form, ids that may be pruned are reason enough for a version. */
const CROWDED = 45_000

const REMOVED_DAYS = 400n

/** When the version in force is to be signed again. */
export function refreshAt(office: Office, feed: Pick<OwnFeed, 'issued_at'>): Instant {
  return (readInstant(feed.issued_at) ?? 0n) + BigInt(office.settings.feedRefreshSeconds) * SECOND
}

/**
 * The feed in force, signed again when it is old, when there is none yet, or when it is of before it had parts
 * (protocol/core 18.2). Asked again under the head lock, so that of many who see the same need one signs.
 */
export async function keepFeedCurrent(office: Office): Promise<OwnFeed> {
  const before = await findOwnFeed(office.store.db)
  if (before !== undefined && (!mayMakeSignatures(office) || !isDue(office, before))) return before
  return publishWhere(office, 'refresh', (held) => held === undefined || isDue(office, held))
}

function isDue(office: Office, feed: OwnFeed): boolean {
  return feed.index_json === null || office.clock.now() >= refreshAt(office, feed)
}

function publishWhere(
  office: Office,
  cause: FeedCause,
  isNeeded: (held: OwnFeed | undefined) => boolean,
): Promise<OwnFeed> {
  return office.store.transact(async (tx) => {
    await office.store.lockHead(tx, 'feed')
    const held = await findOwnFeed(tx)
    return held !== undefined && !isNeeded(held) ? held : publishOwnFeed(tx, office, cause)
  })
}

/** Every minute: a feed that is not read must not grow old, and a crowded one makes room. */
export async function keepFeed(office: Office): Promise<void> {
  if (!mayMakeSignatures(office)) return
  try {
    const feed = await keepFeedCurrent(office)
    if ((await countPlainIds(office.store.db, CROWDED + 1)) > CROWDED && (await isPrunable(office)))
      await publishWhere(office, 'prune', (held) => held?.sequence === feed.sequence)
  } catch (error) {
    office.metrics.feedPublishFailures.increase()
    office.log.error('the revocation feed could not be signed', { alarm: true, error })
    throw error
  }
  const oldest = office.clock.now() - REMOVED_DAYS * 86_400n * SECOND
  await purgeRemovedFeeds(office.store.db, writeSortable(oldest))
}

function isPrunable(office: Office): Promise<boolean> {
  const now = office.clock.now()
  const margin = BigInt(office.settings.feedPruneMarginSeconds) * SECOND
  return hasPrunable(office.store.db, { known: writeSortable(now - margin), unknown: writeSortable(now) })
}
