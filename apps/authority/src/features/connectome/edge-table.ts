import { type Markup, markup } from '@chancery/service-kit'
import { toDisplay } from '../../pages/display-time.ts'
import { badge, figure, identifier, table, when } from '../../pages/parts.ts'
import { lifecycleTone } from './lifecycle-tone.ts'
import type { GraphPageData } from './page-data.ts'

/** Rows of a table before the others are folded: a page has at most three screens, also on a phone. */
export const ROWS_SHOWN = 4

/** Renders treaties as rows, and the number of those not shown. */
export function edgeTable(edges: GraphPageData['edges'], total: number, empty: string): Markup {
  const left = total - edges.length
  return markup`${table(
    'Treaties',
    [
      {
        name: 'State',
        cell: (edge) => badge(lifecycleTone(edge.lifecycle_state), edge.lifecycle_state.replaceAll('_', ' ')),
      },
      { name: 'From', cell: (edge) => edge.from },
      { name: 'To', cell: (edge) => edge.to },
      { name: 'Risk', cell: (edge) => edge.expiry_risk },
      { name: 'Ends', cell: (edge) => when(toDisplay(edge.expires_at)) },
      {
        name: 'Paper',
        cell: (edge) =>
          markup`<a data-treaty href="/recognition-treaties/${encodeURIComponent(edge.treaty_id)}">${identifier(edge.treaty_id)}</a>`,
      },
    ],
    edges,
    empty,
    ROWS_SHOWN,
  )}${left > 0 && markup`<p class="empty">${figure(left)} more: narrow the search, or read /connectome.json.</p>`}`
}

/** A search field that works without script. */
export function searchForm(action: string, words: string, stored: Readonly<Record<string, string>> = {}): Markup {
  return markup`<form class="inline-form" action="${action}" method="get" role="search"><label for="q">Sovereign contains</label><input class="input" id="q" name="q" type="search" value="${words}" maxlength="200">${Object.entries(
    stored,
  )
    .filter(([, value]) => value !== '')
    .map(
      ([name, value]) => markup`<input type="hidden" name="${name}" value="${value}">`,
    )}<button class="btn">Search</button></form>`
}
