import { type Call, type HttpResponse, markup } from '@chancery/service-kit'
import type { ConnectomeState } from './state.ts'
import { page as frame } from '../../pages/frame.ts'
import { figure, identifier, panel, plural, table } from '../../pages/parts.ts'
import { ROWS_SHOWN, edgeTable, searchForm } from './edge-table.ts'
import { drawMap } from './map.ts'
import { connectomeTabs } from './tabs.ts'

/**
 * GET /atlas
 * Shows the digest of the graph, so that two readers can compare their graphs, with its sovereigns and treaties as
 * tables. The map is on /connectome.
 */
export async function atlasPage(call: Call, parts: ConnectomeState): Promise<HttpResponse> {
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
