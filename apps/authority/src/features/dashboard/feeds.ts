import { type ConnectomeSummary, HOUR, type Instant, MAX_FEED_TOTAL_IDS, readInstant } from '@chancery/protocol'
import { toWireTime } from '../../requests/list-position.ts'
import type { Reader } from '../../database/database.ts'
import { type NewestFeed, findOwnFeedFacts, listNewestFeeds } from '../revocation-feeds/index.ts'
import { toDisplay } from '../../pages/display-time.ts'
import type { PartnersView } from '../partners/index.ts'
import type { PolicySetView } from '../boundary-policies/index.ts'
import type { RecentDecisions } from '../boundary/index.ts'
import type { TreatySummary } from '../connectome/index.ts'
import type { SuccessionProgress } from '../key-succession/index.ts'
import type { Activity } from './activity.ts'
import type { GrantingTreatyRow } from './granted-patterns.ts'
import type { RecentChange } from './recent-changes.ts'

type FeedSummary = {
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

type OwnFeedView = {
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

export type ListView = {
  readonly sequence: number
  readonly entries: number
  readonly issued_at: string
  readonly issued_at_display: string
  readonly next_update: string
  readonly next_update_display: string
  readonly age_minutes: number
  readonly overdue: boolean
}

export type SigningKeyView = { readonly key_id: string; readonly valid_to: string; readonly days_left: number }

export type SuccessionView = Pick<
  SuccessionProgress,
  'phase' | 'key_id' | 'announced_at' | 'switched_at' | 'switch_by' | 'nodes' | 'nodes_with_new_block' | 'former_key_id'
> & { readonly next_step: string | null }

/** One model: /dashboard.json writes it, the pages show it. */
export type DashboardView = {
  readonly sovereign: { readonly id: string; readonly version: string }
  readonly readiness: { readonly status: 'ready' | 'not_ready'; readonly backend: 'PostgreSQL' | 'SQLite' }
  /** The key in use, and when the root key lets it end. */
  readonly signing_key: SigningKeyView
  readonly nodes: { readonly active: number; readonly tracked: number }
  readonly certificates: { readonly issued: number; readonly revoked: number; readonly expiring: number | null }
  /** Null before the first list was signed. */
  readonly revocation_list: ListView | null
  readonly connectome_summary: ConnectomeSummary
  readonly treaty_summary: TreatySummary
  readonly treaties: readonly GrantingTreatyRow[]
  /** Null before the first version. */
  readonly own_feed: OwnFeedView | null
  readonly revocation_feed_summary: FeedSummary
  readonly revocation_feeds: readonly FeedRow[]
  readonly partners: PartnersView
  readonly boundary_policies: PolicySetView
  /** Decisions of the last hour by who asked and result. */
  readonly decisions: RecentDecisions['counts']
  readonly recent_changes: readonly RecentChange[]
  readonly warnings: readonly string[]
  readonly activity: Activity
  /** While a succession of the authority's key is under way. */
  readonly key_succession?: SuccessionView
  readonly links: Readonly<Record<keyof typeof LINKS, string>>
}

export const LINKS = {
  dashboard_json: '/dashboard.json',
  connectome: '/connectome',
  connectome_json: '/connectome.json',
  recognition_treaties: '/recognition-treaties',
  recognition_graph: '/recognition-graph',
  api_reference: '/api-reference',
  cli_reference: '/cli-reference',
} as const
