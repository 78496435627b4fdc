import { HOUR, readInstant } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import { toWireTime } from '../../requests/list-position.ts'
import type { Reader } from '../../database/database.ts'
import { listNewestFeeds } from '../revocation-feeds/index.ts'
import type { NewestFeed } from '../revocation-feeds/index.ts'
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
