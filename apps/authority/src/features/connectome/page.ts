import { type Call, type HttpResponse, type Markup, markup } from '@chancery/service-kit'
import type { ExplainedPath } from '@chancery/protocol'
import type { GraphSummary } from './views.ts'
import { toDisplay } from '../../pages/display-time.ts'
import { type ConnectomeState, findVerifiedPath } from './graph-cache.ts'
import { page as frame } from '../../pages/frame.ts'
import { badge, figure, identifier, panel, plural, table, when } from '../../pages/parts.ts'
import { ROWS_SHOWN, drawMap, edgeTable, searchForm } from './map.ts'
import type { BlastRow, GraphPageData } from './page-data.ts'

/** The parts of the Connectome as links. They need no script: three are places of one page, the fourth is the atlas. */
export function connectomeTabs(current: '/connectome' | '/atlas', treaties: number, withdrawn: number): Markup {
  const link = (href: string, text: string, count?: number): Markup =>
    markup`<a href="${href}"${href === current && markup` aria-current="page"`}>${text}${count !== undefined && markup` <span class="n">${figure(count)}</span>`}</a>`
  return markup`<nav class="tabs" aria-label="Connectome">${link('/connectome', 'Map')}${link('/connectome#treaties', 'Treaties', treaties)}${link('/connectome#withdrawn', 'Withdrawn by others', withdrawn)}${link('/atlas', 'Digest and exports')}</nav>`
}

/**
 * GET /connectome
 * Shows the treaties, the sovereigns affected by each imported revocation, and the path between two sovereigns.
 */
export async function page(call: Call, parts: ConnectomeState): Promise<HttpResponse> {
  const [words, from, to] = ['q', 'from', 'to'].map((name) => call.query.first(name) ?? '')
  const built = await parts.graph.current(parts)
  const outline = await built.outline(words ?? '')
  const isAsked = from !== undefined && from !== '' && to !== undefined && to !== ''
  const path = isAsked ? await findVerifiedPath(parts, { from, to, reported: true }) : undefined
  return frame(parts, {
    path: '/connectome',
    title: 'Connectome',
    content: markup`<section class="verdict" data-live="figures"><h1>Who recognises whom</h1><p>${sentence(built.summary)}</p></section>
${connectomeTabs('/connectome', built.summary.recognition_edge_count, outline.blast_count)}
${panel({ title: 'Map', flush: drawMap(outline) })}
${panel({ title: 'Trust path', id: 'trust-path', body: markup`${pathForm(from ?? '', to ?? '')}${path !== undefined && describePath(path)}` })}
${panel({ title: 'Treaties', id: 'treaties', flush: markup`${searchForm('/connectome', words ?? '', { from: from ?? '', to: to ?? '' })}<div data-live="edges">${edgeTable(outline.edges, outline.edge_count, 'No treaty matches.')}</div>` })}
${outline.reported_edge_count > 0 && reportedSection(outline)}
${panel({ title: 'Withdrawn by others', id: 'withdrawn', note: 'Attestations that other sovereigns revoked, and the sovereigns that accepted their issuer.', flush: markup`<div data-live="blast">${blasts(outline)}</div>` })}`,
  })
}

function sentence(summary: GraphSummary): string {
  const { sovereign_count, recognition_edge_count, active_edge_count, revoked_edge_count } = summary
  const { revoked_trust_material_count, imported_revocation_count } = summary
  return `${plural(sovereign_count, 'sovereign')}, ${plural(recognition_edge_count, 'treaty', 'treaties')}: ${figure(active_edge_count)} in force, ${figure(revoked_edge_count)} ended. ${plural(revoked_trust_material_count, 'record')} revoked, ${figure(imported_revocation_count)} of them imported from others.`
}

function reportedSection({ reported_edges, reported_edge_count }: GraphPageData): Markup {
  const left = reported_edge_count - reported_edges.length
  const rows = table(
    'Treaties that partners report',
    [
      { name: 'Recognises', cell: (edge) => edge.from },
      { name: 'Recognised', cell: (edge) => edge.to },
      { name: 'Until', cell: (edge) => when(toDisplay(edge.expires_at)) },
      { name: 'As of', cell: (edge) => when(toDisplay(edge.as_of)) },
      { name: 'Treaty', cell: (edge) => identifier(edge.treaty_id) },
    ],
    reported_edges,
    'None.',
    ROWS_SHOWN,
  )
  return panel({
    title: 'Treaties that partners report',
    note: 'Read from partners. They make no member accepted here.',
    flush: markup`<div data-live="reported">${rows}</div>${left > 0 && markup`<p class="empty">${figure(left)} more in /connectome.json.</p>`}`,
  })
}

function pathForm(from: string, to: string): Markup {
  return markup`<form class="inline-form" action="/connectome#trust-path" method="get"><label for="from">From</label><input class="input" id="from" name="from" value="${from}" required maxlength="500"><label for="to">To</label><input class="input" id="to" name="to" value="${to}" required maxlength="500"><button class="btn">Find path</button></form>`
}

const REASONS: Readonly<Record<string, string>> = {
  active_treaty_path: 'Treaties in force lead there.',
  direct_treaty_revoked: 'There was a treaty; it ended.',
  reported_treaty_path: 'Only treaties that partners report lead there. They make no member accepted.',
  no_active_treaty_path: 'No treaty in force leads there.',
}

/** Several hops explain the graph; verification accepts one direct treaty only. */
function describePath({ from, to, trusted, reason, path, hop_count }: ExplainedPath): Markup {
  const steps = path.map(
    (edge) =>
      markup`<li>${edge.from} <span aria-hidden="true">→</span><span class="unseen"> recognises </span> ${edge.to} ${edge.origin === 'own' ? markup`<a data-treaty href="/recognition-treaties/${encodeURIComponent(edge.treaty_id)}">${identifier(edge.treaty_id)}</a>` : markup`${identifier(edge.treaty_id)} ${badge('ended', 'reported')}`}</li>`,
  )
  return markup`<div class="answer" role="status" data-path><p>${badge(trusted ? 'good' : 'ended', trusted ? 'path found' : 'no path')} ${from} <span aria-hidden="true">→</span><span class="unseen"> to </span> ${to}: ${REASONS[reason] ?? reason} ${
    hop_count > 1 && 'It explains the graph and makes no treaty transitive.'
  }</p>${steps.length > 0 && markup`<ol>${steps}</ol>`}</div>`
}

/** The sovereigns known by own treaties. */
function ownNames({ affected_accepting_sovereigns: all, reported_accepting_sovereigns: reported }: BlastRow): string[] {
  return all.filter((name) => !reported.includes(name))
}

function listNames(names: readonly string[]): string {
  return names.length === 0 ? 'none' : names.join(', ')
}

function blasts(outline: GraphPageData): Markup {
  const left = outline.blast_count - outline.blast_radius.length
  return markup`${table(
    'Imported revocations',
    [
      { name: 'Issuer', cell: (row) => row.issuer_sovereign_id },
      {
        name: 'Attestation',
        cell: (row) =>
          markup`<a data-issuer="${row.issuer_sovereign_id}" href="/connectome?q=${encodeURIComponent(row.issuer_sovereign_id)}">${identifier(row.id)}</a>`,
      },
      { name: 'Reason', cell: (row) => row.reason ?? 'not given' },
      { name: 'Accepted by', cell: (row) => listNames(ownNames(row)) },
      { name: 'Accepted by report', cell: (row) => listNames(row.reported_accepting_sovereigns) },
      { name: 'Imported', cell: (row) => when(toDisplay(row.revoked_at)) },
    ],
    outline.blast_radius,
    'No imported revocations.',
    ROWS_SHOWN,
  )}${left > 0 && markup`<p class="empty">${figure(left)} more in /connectome.json.</p>`}`
}
