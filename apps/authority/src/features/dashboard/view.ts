import { type Instant, MINUTE, writeInstant } from '@chancery/protocol'
import type { Call, Finding } from '@chancery/service-kit'
import type { Core } from '../../core.ts'
import { baseUrl } from '../../requests/base-url.ts'
import { toDisplay } from '../../pages/display-time.ts'
import { type DashboardState, readActivity } from './activity.ts'
import { keyWindow } from '../../signing/halt-reasons.ts'
import { type CrlVersion, findActiveVersion } from '../crl/index.ts'
import { type SuccessionProgress, nextStep } from '../key-succession/index.ts'
import {
  type DashboardView,
  describeFeeds,
  describeOwnFeed,
  LINKS,
  type ListView,
  type SigningKeyView,
} from './feeds.ts'
import { listRecentChanges } from './recent-changes.ts'
import { describePartners } from '../partners/index.ts'
import { denialFindings, partnerFindings, policyProblems } from '../findings/index.ts'

/** Inputs of the warnings. */
export type Watched = Pick<
  DashboardView,
  | 'readiness'
  | 'signing_key'
  | 'revocation_list'
  | 'treaty_summary'
  | 'revocation_feed_summary'
  | 'boundary_policies'
  | 'recent_changes'
  | 'key_succession'
  | 'partners'
> & {
  /** Treaties in force that name none of the current keys of a partner. */
  readonly outdatedTreaties: readonly string[]
  /** Decisions of the last hour about members of partners, denied because no recent feed is imported. */
  readonly deniedForFreshness: number
}

/** A new key needs preparation, because gateways must pin it first. */
const KEY_WARNING_DAYS = 30

/** Returns the warnings, the most urgent first. Each names the problem and what to do. */
export function findWarnings(watched: Watched): string[] {
  const { treaty_summary: treaties, revocation_feed_summary: feeds, boundary_policies: policies } = watched
  const out: string[] = []
  if (watched.readiness.status === 'not_ready')
    out.push('This instance is not ready: /readyz names the failed check, the log has the cause.')
  const { days_left: days, valid_to } = watched.signing_key
  if (days < KEY_WARNING_DAYS)
    out.push(
      `The key window of the genesis block ends ${valid_to}, ${days === 0 ? 'in less than a day or past' : `in ${count(days, 'day')}`}: sign a new one with chancery genesis succeed.`,
    )
  if (watched.revocation_list?.overdue === true)
    out.push('The revocation list is past its next update: check the crl-refresh job in /metrics and the key window.')
  if (!policies.healthy) out.push(toWarning(policyProblems(policies.problem_count)))
  if (treaties.warning_count > 0)
    out.push(
      treaties.warning_count === 1
        ? '1 treaty is expired or ends within 72 hours: renew or replace it.'
        : `${treaties.warning_count} treaties are expired or end within 72 hours: renew or replace them.`,
    )
  if (feeds.stale_count > 0)
    out.push(`${feeds.stale_count} revocation feeds were not imported for over 72 hours: import them again.`)
  out.push(...partnerFindings(watched.partners, watched.outdatedTreaties).map(toWarning))
  out.push(...denialFindings(watched.deniedForFreshness).map(toWarning))
  if (watched.recent_changes.some((change) => change.details['differs_from_pinned'] === true))
    out.push(
      'A revocation feed or a justification was verified under other keys than a treaty pins: check which operator supplied the keys.',
    )
  const { key_succession: succession } = watched
  if (succession !== undefined)
    out.push(
      `A key succession is ${succession.phase}: ${succession.nodes_with_new_block} of ${succession.nodes} nodes have the new block.`,
    )
  return out
}

/** One line for the public page, in the words of doctor. */
function toWarning({ found, effect, fix = '' }: Finding): string {
  const next = effect ?? fix
  return `${found}: ${next.charAt(0).toLowerCase()}${next.slice(1)}`
}

function count(number: number, word: string, many = `${word}s`): string {
  return `${number} ${number === 1 ? word : many}`
}

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
