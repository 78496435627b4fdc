import { type Instant, writeJson } from '@chancery/protocol'
import { type Call, type HttpResponse, type Markup, markup } from '@chancery/service-kit'
import { toDisplay } from '../../pages/display-time.ts'
import type { DashboardState } from './activity.ts'
import { page as frame } from '../../pages/frame.ts'
import { badge, duration, figure, identifier, mark, panel, plural, table, tile, when } from '../../pages/parts.ts'
import type { Tone } from '../../pages/parts.ts'
import { ASKERS } from '../../metrics.ts'
import { lifecycleTone } from '../connectome/index.ts'
import { activityChart } from './activity-chart.ts'
import type { PartnerState } from '../partners/index.ts'
import type { DashboardView, FeedRow, Freshness, SuccessionView } from './feeds.ts'
import type { ChangeState, RecentChange } from './recent-changes.ts'
import { treatyChart } from './treaty-chart.ts'
import { view } from './view.ts'

/** Maximum number of rows in a table. The rest is behind a link. */
const TREATY_ROWS = 25
/** Rows before the others are folded: the page has at most three screens, also on a phone. */
const TREATIES_SHOWN = 2
const CHANGES_SHOWN = 2

/**
 * GET /dashboard
 * Shows /dashboard.json: first the problems, then the figures, then the records.
 */
export async function page(call: Call, parts: DashboardState): Promise<HttpResponse> {
  const model = await view(call, parts)
  return frame(parts, { path: '/', title: 'Overview', content: content(model, parts.clock.now()) })
}

function content(model: DashboardView, now: Instant): Markup {
  return markup`<div class="stack" data-live="dashboard">
${verdict(model)}
${model.key_succession !== undefined && succession(model.key_succession)}
<section class="vitals many" aria-label="Figures">${tiles(model)}</section>
${panel({ title: 'Active nodes, last 24 hours', flush: activityChart(model.activity) })}
${panel({ title: 'Treaties by urgency', flush: treaties(model) })}
<div class="half">
<div class="stack">${panel({ title: 'When treaties end', flush: treatyChart(model.treaties, now), isFolded: true })}${panel({ title: 'Decisions, last hour', flush: decisions(model), isFolded: true })}</div>
${panel({ title: 'Recent changes', flush: changes(model.recent_changes) })}
</div>
<div class="half">
<div class="stack">${panel({ title: 'Revocation feeds of others', flush: feeds(model.revocation_feeds), isFolded: true })}${panel({ title: 'Partners', flush: partners(model), isFolded: true })}</div>
<div class="stack">${panel({ title: 'Boundary policies', flush: policies(model), isFolded: true })}</div>
</div>
</div>`
}

/** The overall state in one sentence. */
function verdict({ readiness, warnings }: DashboardView): Markup {
  const tone = readiness.status === 'not_ready' ? 'bad' : warnings.length > 0 ? 'watch' : 'good'
  const summary = {
    good: 'No problems.',
    // The most urgent warning without its advice; all of them follow below.
    watch: `${warnings[0]?.split(': ')[0] ?? ''}.`,
    bad: 'Not ready: this instance must not receive traffic.',
  }[tone]
  const list = warnings.map((warning) => markup`<li>${badge(tone, 'warning')}<span>${warning}</span></li>`)
  const isReady = readiness.status === 'ready'
  return markup`<section class="verdict" aria-label="State of the network"><h1>${summary}</h1><p>${badge(isReady ? 'good' : 'bad', isReady ? 'ready' : 'not ready')} Database: ${readiness.backend}.</p></section>${
    warnings.length > 0 && panel({ title: 'Warnings', flush: markup`<ul class="warnings">${list}</ul>` })
  }`
}

/** Progress of the key succession, with the same figures as the command and the metrics. */
function succession({ phase, key_id, nodes, nodes_with_new_block, next_step, ...dates }: SuccessionView): Markup {
  const { announced_at, switched_at } = dates
  const facts = [
    ['New key', key_id],
    ['Announced', announced_at === null ? null : toDisplay(announced_at)],
    ['Switched', switched_at === null ? null : toDisplay(switched_at)],
  ] as const
  const known = facts.flatMap(([name, value]) =>
    value === null ? [] : [markup`<div><dt>${name}</dt><dd>${value}</dd></div>`],
  )
  return panel({
    title: 'Key succession',
    body: markup`<p>${badge('watch', phase)} <strong>${figure(nodes_with_new_block)} of ${figure(nodes)} nodes have the new block</strong></p><p><progress max="${Math.max(nodes, 1)}" value="${nodes_with_new_block}" aria-label="Nodes with the new block"></progress></p><dl class="facts">${known}</dl>${next_step !== null && markup`<p>Next: ${next_step}</p>`}`,
  })
}

function tiles(model: DashboardView): readonly Markup[] {
  const { nodes, certificates, revocation_list: list, treaty_summary: treaty, boundary_policies: policy } = model
  const { connectome_summary: graph, own_feed: own, revocation_feed_summary: feed } = model
  const expiring = certificates.expiring === null ? '' : `, ${figure(certificates.expiring)} ending within 24 h`
  return [
    tile({
      name: 'Active nodes',
      value: figure(nodes.active),
      note: `of ${figure(nodes.tracked)} certificates in force`,
    }),
    tile({
      name: 'Certificates issued',
      value: figure(certificates.issued),
      note: `${figure(certificates.revoked)} revoked${expiring}`,
    }),
    tile({
      name: 'Revocation list',
      href: '/crl',
      value: list === null ? '–' : `#${figure(list.sequence)}`,
      note:
        list === null
          ? 'not signed yet'
          : `${plural(list.entries, 'entry', 'entries')}, signed ${duration(list.age_minutes)} ago, next by ${list.next_update_display}`,
      tone: list?.overdue === true ? 'bad' : 'plain',
    }),
    tile({
      name: 'Treaties in force',
      href: '/connectome',
      value: figure(treaty.active + treaty.expiring_soon),
      note: `${figure(treaty.expiring_soon)} ending within 72 h, ${figure(treaty.expired)} expired, ${figure(treaty.revoked + treaty.replaced)} ended`,
      tone: treaty.warning_count > 0 ? 'watch' : 'plain',
    }),
    tile({
      name: 'Sovereigns',
      href: '/atlas',
      value: figure(graph.sovereign_count),
      note: `${plural(graph.recognition_edge_count, 'treaty', 'treaties')}, ${plural(graph.imported_revocation_count, 'imported revocation')}`,
    }),
    ownFeedTile(own),
    tile({
      name: 'Feeds of others',
      value: figure(feed.count),
      note:
        feed.count === 0
          ? 'none imported'
          : `${feed.freshness}: ${figure(feed.stale_count)} stale, ${figure(feed.watch_count)} to watch`,
      tone: feed.stale_count > 0 ? 'watch' : 'plain',
    }),
    tile({
      name: 'Boundary policies',
      value: figure(policy.active.length),
      note: `${policy.status}, enforcement ${policy.enforcement}`,
      tone: policy.healthy ? 'plain' : 'bad',
    }),
  ]
}

function ownFeedTile(own: DashboardView['own_feed']): Markup {
  const name = 'Own revocation feed'
  if (own === null) return tile({ name, value: '–', note: 'not signed yet', tone: 'plain' })
  return tile({
    name,
    href: '/sovereign-revocation-feed',
    value: `#${figure(own.sequence)}`,
    note: `${plural(own.total_ids, 'id')}, signed ${duration(own.age_hours * 60)} ago`,
    tone: own.total_ids > own.capacity * 0.8 ? 'bad' : 'plain',
  })
}

function treaties({ treaties: rows, links }: DashboardView): Markup {
  const shown = rows.slice(0, TREATY_ROWS)
  const rest = rows.length - shown.length
  return markup`${table(
    'Treaties by urgency',
    [
      {
        name: 'State',
        cell: (row) => badge(lifecycleTone(row.lifecycle_state), row.lifecycle_state.replaceAll('_', ' ')),
      },
      { name: 'From', cell: (row) => row.issuer_sovereign_id },
      { name: 'To', cell: (row) => row.subject_sovereign_id },
      { name: 'Ends', cell: (row) => when(row.expires_at_display) },
      { name: 'Capabilities', cell: (row) => figure(row.capability_patterns), isNumber: true },
      {
        name: 'Paper',
        cell: (row) =>
          markup`<a href="/recognition-treaties/${encodeURIComponent(row.treaty_id)}">${identifier(row.treaty_id)}</a>`,
      },
    ],
    shown,
    'No treaty yet. `chancery treaty issue` recognises another sovereign.',
    TREATIES_SHOWN,
  )}${rest > 0 && markup`<p class="empty"><a href="${links.recognition_treaties}">${figure(rest)} more</a></p>`}`
}

const FRESHNESS_TONES: Readonly<Record<Freshness, Tone>> = { fresh: 'good', watch: 'watch', stale: 'bad' }

function feeds(rows: readonly FeedRow[]): Markup {
  return table(
    'Revocation feeds of others',
    [
      { name: 'Freshness', cell: (row) => badge(FRESHNESS_TONES[row.freshness], row.freshness) },
      { name: 'Sovereign', cell: (row) => row.issuer_sovereign_id },
      { name: 'Sequence', cell: (row) => figure(row.sequence), isNumber: true },
      { name: 'Revoked', cell: (row) => figure(row.revoked_count), isNumber: true },
      { name: 'Imported', cell: (row) => when(row.imported_at_display) },
      { name: 'Complete', cell: (row) => (row.complete ? 'yes' : 'no, parts are missing') },
    ],
    rows,
    'No feed imported yet. `chancery partner import-feed` imports the revocations of a recognised sovereign.',
  )
}

function policies({ boundary_policies: set }: DashboardView): Markup {
  return table(
    'Boundary policies in force',
    [
      { name: 'Policy', cell: (row) => row.policy_id },
      { name: 'Version', cell: (row) => figure(row.version), isNumber: true },
      { name: 'Gates', cell: (row) => (row.gate_count === null ? '?' : figure(row.gate_count)), isNumber: true },
      { name: 'Scope', cell: (row) => row.scope },
      { name: 'Valid until', cell: (row) => when(row.valid_until_display ?? 'unknown') },
    ],
    set.active,
    `No policy is active; enforcement is ${set.enforcement}.`,
  )
}

const PARTNER_TONES: Readonly<Record<PartnerState, Tone>> = {
  alarm: 'bad',
  stale: 'bad',
  watch: 'watch',
  new: 'plain',
  paused: 'ended',
  fresh: 'good',
}

function partners({ partners: { count, rows } }: DashboardView): Markup {
  return table(
    'Partners with a treaty in force, the most urgent first',
    [
      { name: 'Partner', cell: (row) => row.sovereign_id },
      { name: 'State', cell: (row) => badge(PARTNER_TONES[row.state], row.state) },
      { name: 'Reasons', cell: (row) => row.reasons.join(', ') },
      {
        name: 'Last good pull',
        cell: (row) => (row.last_good_pull_at === null ? 'none' : when(toDisplay(row.last_good_pull_at))),
      },
      { name: 'Feed', cell: (row) => (row.feed_sequence === null ? '–' : figure(row.feed_sequence)), isNumber: true },
      { name: 'Import', cell: (row) => row.import_feeds },
    ],
    rows,
    count === 0 ? 'No partners.' : `${plural(count, 'partner')}, none with a treaty in force.`,
  )
}

const ASKER_NAMES = {
  operator: 'Operators',
  node: 'Nodes',
  partner_node: 'Members of partners',
  relay: 'Relays',
} as const

function decisions({ decisions: counts }: DashboardView): Markup {
  return table(
    'Decisions of the last hour',
    [
      { name: 'Asked by', cell: ([asker]) => ASKER_NAMES[asker] },
      { name: 'Authorized', cell: ([, count]) => figure(count.authorized), isNumber: true },
      { name: 'Denied', cell: ([, count]) => figure(count.denied), isNumber: true },
    ],
    ASKERS.map((asker) => [asker, counts[asker]] as const),
    'No decisions.',
  )
}

const STATE_TONES: Readonly<Record<ChangeState, Tone>> = {
  accepted: 'good',
  rejected: 'bad',
  revoked: 'ended',
  recorded: 'ended',
}

function changes(recent: readonly RecentChange[]): Markup {
  if (recent.length === 0) return markup`<p class="empty">No changes yet.</p>`
  const items = recent.map(
    ({ summary, created_at_display }) =>
      markup`<li>${mark(STATE_TONES[summary.state], summary.state)}<div><b>${summary.title}</b> <span class="quiet small">${summary.fields.map(({ label, value }) => `${label} ${typeof value === 'string' ? value : writeJson(value)}`).join(' · ')}</span></div><time>${created_at_display}</time></li>\n`,
  )
  const list = (some: readonly Markup[]): Markup => markup`<ol class="changes">${some}</ol>`
  const rest = items.slice(CHANGES_SHOWN)
  return markup`${list(items.slice(0, CHANGES_SHOWN))}${
    rest.length > 0 &&
    markup`<details class="folded" data-fold="Recent changes"><summary>${figure(rest.length)} more</summary>${list(rest)}</details>`
  }`
}
