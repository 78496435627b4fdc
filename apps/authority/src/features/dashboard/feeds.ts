import { HOUR, type Instant, MAX_FEED_TOTAL_IDS, readInstant } from '@chancery/protocol'
import { toWireTime } from '../../requests/list-position.ts'
import type { Reader } from '../../database/database.ts'
import { type NewestFeed, findOwnFeedFacts, listNewestFeeds } from '../revocation-feeds/index.ts'
import { toDisplay } from '../../pages/display-time.ts'

export type FeedSummary = {
  readonly count: number
  readonly freshness: 'none' | Freshness
  readonly stale_count: number
  readonly watch_count: number
}

export type Freshness = 'fresh' | 'watch' | 'stale'

export type FeedRow = {
  readonly feed_id: string
  readonly issuer_sovereign_id: string
  readonly sequence: number
  readonly revoked_count: number
  readonly imported_at: string
  readonly imported_at_display: string
  readonly age_hours: number
  readonly freshness: Freshness
  /** All revocations of the issuer up to this sequence are imported. */
  readonly complete: boolean
}

export type OwnFeedView = {
  readonly sequence: number
  readonly issued_at: string
  readonly age_hours: number
  /** In the plain form. */
  readonly ids: number
  readonly total_ids: number
  readonly parts: number
  /** Left out because their attestations ended; null when there are too many to count. */
  readonly pruned: number | null
  /** Most ids the feed can have. */
  readonly capacity: number
}

/** Describes the current own feed. Null before the first version. */
export async function describeOwnFeed(db: Reader, now: Instant): Promise<OwnFeedView | null> {
  const feed = await findOwnFeedFacts(db)
  if (feed === undefined) return null
  return {
    sequence: feed.sequence,
    issued_at: toWireTime(feed.issued_at) ?? '',
    age_hours: Math.max(0, Number((now - (readInstant(feed.issued_at) ?? now)) / HOUR)),
    ids: feed.ids,
    total_ids: feed.total_ids,
    parts: feed.parts,
    pruned: feed.pruned,
    capacity: MAX_FEED_TOTAL_IDS,
  }
}

/** Returns the time since the last imported revocation of each recognised sovereign. */
export async function describeFeeds(
  db: Reader,
  now: Instant,
): Promise<{ readonly summary: FeedSummary; readonly rows: readonly FeedRow[] }> {
  const rows = (await listNewestFeeds(db)).map((feed) => describe(feed, now))
  const [stale, watch] = [
    rows.filter((row) => row.freshness === 'stale').length,
    rows.filter((row) => row.freshness === 'watch').length,
  ]
  const freshness = rows.length === 0 ? 'none' : stale > 0 ? 'stale' : watch > 0 ? 'watch' : 'fresh'
  return { summary: { count: rows.length, freshness, stale_count: stale, watch_count: watch }, rows }
}

function describe(feed: NewestFeed, now: Instant): FeedRow {
  const age = now - (readInstant(feed.imported_at) ?? now)
  const age_hours = Number(age / HOUR)
  const imported_at = toWireTime(feed.imported_at) ?? ''
  return {
    feed_id: feed.feed_id,
    issuer_sovereign_id: feed.issuer_sovereign_id,
    sequence: feed.sequence,
    revoked_count: feed.revoked_count,
    imported_at,
    imported_at_display: toDisplay(imported_at),
    age_hours,
    freshness: age <= 24n * HOUR ? 'fresh' : age <= 72n * HOUR ? 'watch' : 'stale',
    complete: feed.complete === 1,
  }
}
