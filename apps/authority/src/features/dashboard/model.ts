import type { PartnersView } from '../partners/index.ts'
import type { ConnectomeSummary } from '@chancery/protocol'
import type { PolicySetView } from '../boundary-policies/index.ts'
import type { RecentDecisions } from '../boundary/index.ts'
import type { TreatySummary } from '../connectome/index.ts'
import type { SuccessionProgress } from '../key-succession/index.ts'
import type { Activity } from './activity.ts'
import type { GrantingTreatyRow } from './granted-patterns.ts'
import type { FeedRow, FeedSummary, OwnFeedView } from './feeds.ts'
import type { RecentChange } from './recent-changes.ts'

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
