import { type Markup, markup } from '@chancery/service-kit'
import { type Tone, badge, figure, identifier, table, when } from '../../pages/parts.ts'
import type { GraphPageData } from './page-data.ts'
import type { LifecycleState, RecognitionEdge } from '@chancery/protocol'
import { toDisplay } from '../../pages/display-time.ts'

const TONES: Readonly<Record<LifecycleState, Tone>> = {
  active: 'good',
  expiring_soon: 'watch',
  expired: 'bad',
  revoked: 'ended',
  replaced: 'ended',
}

/** The colour of a treaty on a page. */
export function lifecycleTone(state: LifecycleState): Tone {
  return TONES[state]
}

/** The colour of a treaty on a map, which distinguishes the end within one day from the end within three. */
function edgeTone({ lifecycle_state, expiry_risk }: RecognitionEdge): Tone | 'urgent' {
  return lifecycle_state === 'expiring_soon' && expiry_risk === 'high' ? 'urgent' : TONES[lifecycle_state]
}

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

const WIDTH = 760
const HEIGHT = 480
const MAX_DRAWN = 36

interface Place {
  readonly x: number
  readonly y: number
}

/**
 * Draws the network as SVG: the best connected sovereign in the middle, the others around it. It needs no script; the
 * script replaces it with an interactive map.
 */
export function drawMap(outline: GraphPageData): Markup {
  const busiest = [...outline.sovereigns].sort(
    (a, b) => b.recognises + b.recognised_by - (a.recognises + a.recognised_by),
  )
  const drawn = busiest.slice(0, MAX_DRAWN)
  if (drawn.length === 0 && outline.reported_edges.length === 0)
    return markup`<p class="empty">No sovereign is connected yet.</p>`
  const names = new Set(drawn.map((row) => row.sovereign_id))
  for (const { from, to } of outline.reported_edges)
    for (const name of [from, to]) if (names.size < MAX_DRAWN) names.add(name)
  const places = placeAround([...names])
  const edges = outline.edges.filter((edge) => places.has(edge.from) && places.has(edge.to))
  const reported = outline.reported_edges.filter((edge) => places.has(edge.from) && places.has(edge.to))
  const left = outline.sovereign_count - drawn.length
  const more = reported.length > 0 ? `, and ${reported.length} treaties that partners report` : ''
  const label = `Map of ${names.size} sovereigns and ${edges.length} treaties${more}; the tables below list them.`
  return markup`<figure class="map" data-map><svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}">
${edges.map((edge) => drawEdge(places, edge.from, edge.to, edgeTone(edge)))}
${reported.map((edge) => drawEdge(places, edge.from, edge.to, 'reported'))}
${[...places].map(([id, { x, y }]) => markup`<g class="node"><circle cx="${x}" cy="${y}" r="9"/><text x="${x}" y="${y < HEIGHT / 2 ? y - 16 : y + 24}">${id.length > 22 ? `${id.slice(0, 21)}…` : id}</text></g>\n`)}
</svg><figcaption class="legend"><span class="key key-good">in force</span><span class="key key-watch">ends within 72 h</span><span class="key key-urgent">ends within 24 h</span><span class="key key-bad">expired</span><span class="key key-ended">ended</span>${
    reported.length > 0 && markup`<span class="key key-reported">reported by a partner</span>`
  }${left > 0 && markup`<span class="quiet">${figure(left)} more in the tables</span>`}</figcaption></figure>`
}

function placeAround([centre = '', ...others]: readonly string[]): ReadonlyMap<string, Place> {
  const places = new Map<string, Place>([[centre, { x: WIDTH / 2, y: HEIGHT / 2 }]])
  for (const [i, id] of others.entries()) {
    // Two rings when one would be crowded.
    const isOuter = others.length > 14 && i % 2 === 1
    const reach = others.length > 14 ? (isOuter ? 1 : 0.62) : 1
    const angle = -Math.PI / 2 + (2 * Math.PI * i) / others.length
    places.set(id, {
      x: Math.round(WIDTH / 2 + Math.cos(angle) * (WIDTH / 2 - 70) * reach),
      y: Math.round(HEIGHT / 2 + Math.sin(angle) * (HEIGHT / 2 - 40) * reach),
    })
  }
  return places
}

/** Curves the line to its right, so that two sovereigns that recognise each other have two lines. */
function drawEdge(places: ReadonlyMap<string, Place>, from: string, to: string, tone: string): Markup | undefined {
  const [a, b] = [places.get(from), places.get(to)]
  if (a === undefined || b === undefined) return undefined
  const [dx, dy] = [b.x - a.x, b.y - a.y]
  const length = Math.hypot(dx, dy) || 1
  const [ux, uy] = [dx / length, dy / length]
  const [endX, endY] = [b.x - ux * 13, b.y - uy * 13]
  const [midX, midY] = [(a.x + endX) / 2 - uy * 14, (a.y + endY) / 2 + ux * 14]
  const wing = (side: number): string =>
    `${round(endX - ux * 8 - side * uy * 4)},${round(endY - uy * 8 + side * ux * 4)}`
  return markup`<g class="edge edge-${tone}"><path d="M${a.x},${a.y} Q${round(midX)},${round(midY)} ${round(endX)},${round(endY)}"/><polygon points="${round(endX)},${round(endY)} ${wing(1)} ${wing(-1)}"/></g>\n`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
