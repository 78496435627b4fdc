import { isJsonObject } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { baseUrl } from '../../base-url.ts'
import type { Office } from '../../office.ts'
import { describePolicySet } from '../boundary-policies/index.ts'
import type { TreatySummary } from '../connectome/index.ts'
import { describeFeeds } from './feeds.ts'
import type { FeedSummary } from './feeds.ts'
import { listRecentChanges } from './recent-changes.ts'

const LINKS = {
  dashboard_json: '/dashboard.json',
  connectome: '/connectome',
  connectome_json: '/connectome.json',
  recognition_treaties: '/recognition-treaties',
  recognition_graph: '/recognition-graph',
  api_reference: '/api-reference',
  cli_reference: '/cli-reference',
} as const

/**
 * GET /dashboard.json
 * The state of the network at a glance. Public, so it names papers and counts, never people, keys or addresses.
 */
export async function view(call: Call, office: Office): Promise<JsonObject> {
  const { db, backend } = office.store
  const now = office.clock.now()
  const [readiness, built, feeds, active, tracked, recent, policies] = await Promise.all([
    office.readiness.read(),
    office.connectome.current(office),
    describeFeeds(db, now),
    office.enrollment.count.read(),
    office.enrollment.tracked.read(),
    listRecentChanges(db, office.settings.publicAttestationList),
    describePolicySet(office),
  ])
  const treaties = built.treatyTable
  const base = baseUrl(call, office)
  return {
    sovereign: { id: office.genesis.network_name, version: office.genesis.network_version },
    readiness: {
      status: readiness.isReady ? 'ready' : 'not_ready',
      backend: backend === 'postgres' ? 'PostgreSQL' : 'SQLite',
    },
    nodes: { active, tracked },
    connectome_summary: built.summary,
    treaty_summary: treaties.summary,
    treaties: treaties.rows,
    revocation_feed_summary: feeds.summary,
    revocation_feeds: feeds.rows,
    boundary_policies: policies,
    recent_changes: recent,
    warnings: warnings(treaties.summary, feeds.summary, recent),
    links: Object.fromEntries(Object.entries(LINKS).map(([name, path]) => [name, base + path])),
  }
}

function warnings(treaties: TreatySummary, feeds: FeedSummary, recent: readonly JsonObject[]): string[] {
  const out: string[] = []
  if (treaties.warning_count > 0)
    out.push(`${treaties.warning_count} treaties are expired or end within 72 hours: renew or replace them.`)
  if (feeds.stale_count > 0)
    out.push(`${feeds.stale_count} revocation feeds were not imported for over 72 hours: import them again.`)
  const isDiffering = recent.some(
    (change) => isJsonObject(change['details']) && change['details']['differs_from_pinned'] === true,
  )
  if (isDiffering)
    out.push('A revocation feed was imported under other keys than a treaty pins: check who vouched for them.')
  return out
}
