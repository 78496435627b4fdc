import { Refusal, connectome } from '@chancery/contract'
import type { JsonObject, LostPaths } from '@chancery/protocol'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import type { BuiltGraph, ConnectomeParts } from './builder.ts'
import { type ConnectomeState, GraphCache, findVerifiedPath } from './graph-cache.ts'
import { connectomeTabs, page } from './page.ts'
import { type FindingWithDigest, type TrustRequest, readMaterialPage } from './views.ts'
import { type CachedDocument, type Call, type HttpResponse, markup, type Query } from '@chancery/service-kit'
import { page as frame } from '../../pages/frame.ts'
import { figure, identifier, panel, plural, table } from '../../pages/parts.ts'
import { ROWS_SHOWN, drawMap, edgeTable, searchForm } from './map.ts'

/** Whether a view has what partners report. */
export function readReported(query: Query, absent: 'include' | 'exclude'): boolean {
  const given = query.first('reported') ?? absent
  if (given !== 'include' && given !== 'exclude') throw new Refusal('invalid_input', { field: 'reported' })
  return given === 'include'
}

/**
 * GET /connectome.json
 * Returns the graph in reading order, with counts and the sovereigns that each imported revocation affects. It has at
 * most 10,000 rows of revoked material; `view=revoked` returns those of the graph in pages. `view=edges` returns only its
 * edges, as columns, for maps of large graphs.
 */
export async function summary(call: Call, parts: ConnectomeState): Promise<CachedDocument | JsonObject> {
  const view = call.query.first('view')
  const asked = view === 'revoked' ? readMaterialPage(call.query) : undefined
  const isWide = readReported(call.query, 'exclude')
  const current = await parts.graph.current(parts)
  if (asked !== undefined) return current.materialPage(asked)
  if (view === 'edges') return current.document(isWide ? 'edges-with-reported' : 'edges')
  return current.document('connectome')
}

export { lifecycleTone } from './map.ts'
export type { TreatyRow, TreatySummary } from './treaty-table.ts'

/**
 * GET /atlas.json
 * Returns the map and the digest of its graph.
 */
async function atlas(_call: Call, parts: ConnectomeState): Promise<CachedDocument> {
  return (await parts.graph.current(parts)).document('atlas')
}

/**
 * GET /connectome/trust-path
 * Returns the path from one sovereign to another. It explains the graph and makes no treaty transitive. A path that
 * treaties of partners complete is shown, and is not trusted.
 */
async function trustPath(call: Call, parts: ConnectomeState): Promise<JsonObject> {
  const from = call.query.first('from') ?? call.query.first('source') ?? ''
  const to = call.query.first('to') ?? call.query.first('target') ?? ''
  if (from === '' || to === '') throw new Refusal('missing_trust_path_parameters')
  return findVerifiedPath(parts, { from, to, reported: readReported(call.query, 'include') })
}

/**
 * GET /atlas
 * Shows the digest of the graph, so that two readers can compare their graphs, with its sovereigns and treaties as
 * tables. The map is on /connectome.
 */
async function atlasPage(call: Call, parts: ConnectomeState): Promise<HttpResponse> {
  const words = call.query.first('q') ?? ''
  const built = await parts.graph.current(parts)
  const [outline, digest] = await Promise.all([built.outline(words), built.digest()])
  const left = outline.sovereign_count - outline.sovereigns.length
  // Not shown, because the map is on /connectome. The script exports it as one file.
  const drawing = markup`<div hidden>${drawMap(outline)}</div>`
  return frame(parts, {
    path: '/atlas',
    title: 'Atlas',
    content: markup`<section class="verdict"><h1>Atlas</h1>
<p>${plural(built.summary.sovereign_count, 'sovereign')}, ${plural(built.summary.recognition_edge_count, 'treaty', 'treaties')}.</p></section>
${connectomeTabs('/atlas', built.summary.recognition_edge_count, outline.blast_count)}
${panel({ title: 'Graph digest', body: markup`<p data-live="digest">${identifier(digest)}</p><p class="quiet">SHA-256 of the canonical graph. Equal digests mean equal graphs.</p><p class="actions"><a class="btn" href="/atlas.json" download="atlas.json">Export as JSON</a></p>` })}
${panel({
  title: 'Sovereigns',
  flush: markup`${searchForm('/atlas', words)}<div data-live="sovereigns">${table(
    'Sovereigns',
    [
      {
        name: 'Sovereign',
        cell: (row) => markup`<a href="/connectome?q=${encodeURIComponent(row.sovereign_id)}">${row.sovereign_id}</a>`,
      },
      { name: 'Recognises', cell: (row) => figure(row.recognises), isNumber: true },
      { name: 'Recognised by', cell: (row) => figure(row.recognised_by), isNumber: true },
    ],
    outline.sovereigns,
    'No sovereign matches.',
    ROWS_SHOWN,
  )}</div>${left > 0 && markup`<p class="empty">${figure(left)} more: narrow the search, or read /atlas.json.</p>`}`,
})}
${panel({ title: 'Treaties', flush: markup`<div data-live="edges">${edgeTable(outline.edges, outline.edge_count, 'No treaty matches.')}</div>` })}
${drawing}`,
  })
}

/**
 * GET /recognition-graph
 * Returns the recognition graph. All other views are derived from it. It is not a source of trust.
 * `reported=include` adds the treaties that partners report; the digest of the graph is without them.
 */
async function graph(call: Call, parts: ConnectomeState): Promise<CachedDocument> {
  const name = readReported(call.query, 'exclude') ? 'graph-with-reported' : 'graph'
  return (await parts.graph.current(parts)).document(name)
}

export interface Connectome extends Feature {
  /** The current recognition graph. */
  current(): Promise<BuiltGraph>
  /** Returns the sovereigns that recognise this one now, according to stored treaties. */
  acceptedBy(sovereign: string): Promise<readonly string[]>
  /** Returns the impact of ending a treaty. */
  previewTreatyEnd(treaty_id: string): Promise<LostPaths>
  /** Returns H(C(g)) of the current recognition graph (protocol/trust-operations 2.2). */
  graphDigest(): Promise<string>
  /** Returns the current finding about a sovereign, and the digest of the same graph. */
  findTrustNow(asked: TrustRequest): Promise<Omit<FindingWithDigest, 'treaty_ids'>>
}

export function openConnectome(parts: ConnectomeParts): Connectome {
  const cache = new GraphCache()
  const current = (): Promise<BuiltGraph> => cache.current(parts)
  const own = { ...parts, graph: cache }
  return {
    routes: [
      bind(connectome.graph, (call) => graph(call, own)),
      bind(connectome.page, (call) => page(call, own)),
      bind(connectome.summary, (call) => summary(call, own)),
      bind(connectome.trustPath, (call) => trustPath(call, own)),
      bind(connectome.atlasPage, (call) => atlasPage(call, own)),
      bind(connectome.atlas, (call) => atlas(call, own)),
    ],
    jobs: [],
    current,
    acceptedBy: async (sovereign) => (await current()).acceptedBy(sovereign),
    previewTreatyEnd: async (treaty_id) => (await current()).lostPaths(treaty_id),
    graphDigest: async () => (await current()).digest(),
    findTrustNow: async (asked) => {
      const { finding, graph_digest } = await cache.ask(
        parts,
        (built) => built.trustFinding(asked),
        (found) => found.treaty_ids,
      )
      return { finding, graph_digest }
    },
    close: () => cache.close(),
  }
}
