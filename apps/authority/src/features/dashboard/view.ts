import { type Instant, MINUTE, writeInstant } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import type { Core } from '../../core.ts'
import { baseUrl } from '../../requests/base-url.ts'
import { toDisplay } from '../../pages/display-time.ts'
import type { DashboardState } from './parts.ts'
import { keyWindow } from '../../signing/key-window.ts'
import { type CrlVersion, findActiveVersion } from '../crl/index.ts'
import { type SuccessionProgress, nextStep } from '../key-succession/index.ts'
import { readActivity } from './activity.ts'
import { describeFeeds, describeOwnFeed } from './feeds.ts'
import { type DashboardView, LINKS, type ListView, type SigningKeyView } from './model.ts'
import { listRecentChanges } from './recent-changes.ts'
import { findWarnings } from './warnings.ts'
import { describePartners } from '../partners/index.ts'

/**
 * GET /dashboard.json
 * Returns the state of the network. It is public, so it has records and counts, and no people, keys or addresses.
 */
export async function view(call: Call, parts: DashboardState): Promise<DashboardView> {
  const { read: db, engine } = parts.database
  const { enrollment } = parts
  const now = parts.clock.now()
  const [
    { view: partners, outdatedTreaties },
    readiness,
    built,
    feeds,
    ownFeed,
    active,
    { tracked, issued, revoked },
    list,
    recent,
    policies,
    { counts: decisions, deniedForFreshness },
    history,
    succession,
  ] = await Promise.all([
    describePartners(db, parts.network.name, now),
    parts.health.readiness.read(),
    parts.connectome.current(),
    describeFeeds(db, now),
    describeOwnFeed(db, now),
    readActive(enrollment),
    enrollment.certificates.read(),
    findActiveVersion(db),
    listRecentChanges(db, parts.settings.publicAttestationList, parts.operators),
    parts.boundaryPolicies.describe(),
    parts.boundary.readRecentDecisions(),
    readActivity(parts),
    parts.keySuccession.readProgress(),
  ])
  const facts = {
    readiness: describeReadiness(readiness.isReady, engine),
    signing_key: describeKey(parts),
    revocation_list: list === undefined ? null : describeList(list, now),
    treaty_summary: built.treatyTable.summary,
    revocation_feed_summary: feeds.summary,
    boundary_policies: policies,
    recent_changes: recent,
    partners,
    ...underWay(succession),
  }
  return {
    sovereign: { id: parts.network.name, version: parts.network.genesis.network_version },
    nodes: { active, tracked },
    certificates: { issued, revoked, expiring: history.expiring },
    connectome_summary: built.summary,
    treaties: await parts.granted.addTo(built.treatyTable.rows),
    own_feed: ownFeed,
    revocation_feeds: feeds.rows,
    decisions,
    ...facts,
    warnings: findWarnings({ ...facts, outdatedTreaties, deniedForFreshness }),
    activity: history.activity,
    links: linksFrom(baseUrl(call, parts)),
  }
}

/** A large network is not counted for a page: that takes a second, and SQLite answers nothing meanwhile. */
async function readActive(enrollment: DashboardState['enrollment']): Promise<number> {
  const counted = await enrollment.readCountedNodes()
  return Number.isNaN(counted) ? enrollment.count.read() : counted
}

function describeReadiness(isReady: boolean, engine: Core['database']['engine']): DashboardView['readiness'] {
  return { status: isReady ? 'ready' : 'not_ready', backend: engine === 'postgres' ? 'PostgreSQL' : 'SQLite' }
}

function describeKey(parts: DashboardState): SigningKeyView {
  const { valid_to, days_left } = keyWindow(parts)
  return { key_id: parts.signing.keyId, valid_to, days_left }
}

function underWay(progress: SuccessionProgress): Pick<DashboardView, 'key_succession'> {
  if (progress.phase === 'none' || progress.phase === 'retired') return {}
  const { former_certificates: _counted, ...shown } = progress
  return { key_succession: { ...shown, next_step: nextStep(progress) } }
}

function describeList(list: CrlVersion, now: Instant): ListView {
  const [issued_at, next_update] = [writeInstant(list.issuedAt), writeInstant(list.nextUpdate)]
  return {
    sequence: list.sequence,
    entries: list.entries,
    issued_at,
    issued_at_display: toDisplay(issued_at),
    next_update,
    next_update_display: toDisplay(next_update),
    age_minutes: Number((now - list.issuedAt) / MINUTE),
    overdue: now >= list.nextUpdate,
  }
}

function linksFrom(base: string): DashboardView['links'] {
  const links = Object.entries(LINKS).map(([name, path]) => [name, base + path])
  // Object.fromEntries loses the type of the names, which are those of LINKS.
  return Object.fromEntries(links) as DashboardView['links']
}
