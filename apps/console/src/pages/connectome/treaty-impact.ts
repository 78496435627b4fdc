import { type LostPaths, type RecognitionEdge, findLostPaths } from '@chancery/protocol'

/** The graph as columns, see /connectome.json?view=edges. */
export interface Graph {
  readonly ids: readonly string[]
  readonly from: Uint32Array
  readonly to: Uint32Array
  readonly tone: readonly Tone[]
  /** 1 for a treaty that a partner reports. It counts for no path of trust. */
  readonly reported: Uint8Array
  /** Edges of each sovereign. */
  readonly degree: Uint32Array
  readonly placeOf: ReadonlyMap<string, number>
}

export const TONES = ['good', 'watch', 'urgent', 'bad', 'ended'] as const
export type Tone = (typeof TONES)[number]

const TONE_OF: Readonly<Record<string, Tone>> = {
  active: 'good',
  expiring_soon: 'watch',
  expired: 'bad',
  revoked: 'ended',
  replaced: 'ended',
}

interface Columns {
  readonly sovereigns: readonly string[]
  readonly lifecycle_states: readonly string[]
  readonly from: readonly number[]
  readonly to: readonly number[]
  readonly state: readonly number[]
  readonly expiry_risks: readonly string[]
  readonly risk: readonly number[]
  /** 0 own, 1 reported. */
  readonly origin?: readonly number[]
}

export async function loadGraph(): Promise<Graph> {
  const response = await fetch('/connectome.json?view=edges&reported=include')
  if (!response.ok) throw new Error(`The graph was refused with status ${response.status}.`)
  return readColumns((await response.json()) as Columns)
}

/** The data is for display only. It is not used for trust decisions. */
export function readColumns(columns: Columns): Graph {
  const ids = columns.sovereigns
  const [from, to] = [Uint32Array.from(columns.from), Uint32Array.from(columns.to)]
  const degree = new Uint32Array(ids.length)
  for (let i = 0; i < from.length; i += 1) {
    const [a, b] = [from[i] ?? 0, to[i] ?? 0]
    degree[a] = (degree[a] ?? 0) + 1
    degree[b] = (degree[b] ?? 0) + 1
  }
  const tones = columns.lifecycle_states.map((state) => TONE_OF[state] ?? 'ended')
  return {
    ids,
    from,
    to,
    tone: columns.state.map((state, edge) => (isUrgent(columns, edge) ? 'urgent' : (tones[state] ?? 'ended'))),
    reported: Uint8Array.from(columns.origin ?? columns.from.map(() => 0)),
    degree,
    placeOf: new Map(ids.map((id, element) => [id, element])),
  }
}

/** True when the treaty expires within a day and is not revoked. */
function isUrgent({ lifecycle_states, state, expiry_risks, risk }: Columns, edge: number): boolean {
  return lifecycle_states[state[edge] ?? -1] === 'expiring_soon' && expiry_risks[risk[edge] ?? -1] === 'high'
}

/** True for an own treaty in force. Reported ones never make a member accepted. */
function countsHere(graph: Graph, edge: number): boolean {
  return graph.reported[edge] !== 1 && isInForce(graph.tone[edge])
}

/** True for a treaty that recognition can use (protocol/core 20.2). */
function isInForce(tone: Tone | undefined): boolean {
  return tone === 'good' || tone === 'watch' || tone === 'urgent'
}

/** Crossed out edges, affected networks, and a sentence about them. */
export interface Drawn {
  readonly cut: readonly number[]
  readonly touched: readonly number[]
  readonly text: string
}

/** In a large graph only a few sources are searched, so that the page stays fast. */
const FEW_SOURCES = 25
const LARGE_EDGES = 20_000

/**
 * Computes the paths that would be lost by ending a treaty between two networks, from public edges, with the rule of
 * the authority's dry run.
 */
export function treatyImpact(graph: Graph, from: string, to: string): Drawn {
  const element = placeOwn(graph, from, to)
  if (element === undefined) return { cut: [], touched: [], text: `No active treaty connects ${from} to ${to}.` }
  const lost = findLostPaths(
    edgesInForce(graph),
    String(element),
    graph.from.length > LARGE_EDGES ? FEW_SOURCES : undefined,
  )
  const names = new Set(lost.sample.flatMap((pair) => [pair.from, pair.to]))
  return { cut: [element], touched: placesOf(graph, names), text: describe(lost, from, to) }
}

function describe({ count, complete, sample, direct_recognition_lost }: LostPaths, from: string, to: string): string {
  if (!direct_recognition_lost) return `If it ended, another active treaty would still connect ${from} and ${to}.`
  const pairs = sample.slice(0, 6).map((pair) => `${pair.from} → ${pair.to}`)
  const more = count > pairs.length ? ' …' : ''
  return `If it ended, ${complete ? '' : 'at least '}${count} trust ${count === 1 ? 'path' : 'paths'} would be lost: ${pairs.join(', ')}${more}.`
}

/** Returns the networks affected by a revocation of this network: all that accept its members now. */
export function issuerImpact(graph: Graph, issuer: string): Drawn {
  const node = graph.placeOf.get(issuer)
  const cut: number[] = []
  for (let edge = 0; edge < graph.to.length; edge += 1)
    if (graph.to[edge] === node && isInForce(graph.tone[edge])) cut.push(edge)
  const touched = [...new Set(cut.map((edge) => graph.from[edge] ?? 0))]
  const own = new Set(cut.filter((edge) => countsHere(graph, edge)).map((edge) => graph.from[edge] ?? 0))
  const namesOf = (elements: readonly number[]): string =>
    elements.map((element) => graph.ids[element] ?? '').join(', ')
  const [known, reported] = [touched.filter((each) => own.has(each)), touched.filter((each) => !own.has(each))]
  const text = [
    known.length > 0 ? `Members of ${issuer} are accepted by ${namesOf(known)}.` : '',
    reported.length > 0 ? `Partners report that they are also accepted by ${namesOf(reported)}.` : '',
  ]
  return {
    cut,
    touched,
    text:
      touched.length === 0 ? `No network accepts members of ${issuer}.` : text.filter((each) => each !== '').join(' '),
  }
}

function placeOwn(graph: Graph, from: string, to: string): number | undefined {
  const [a, b] = [graph.placeOf.get(from), graph.placeOf.get(to)]
  const element = graph.from.findIndex((node, edge) => node === a && graph.to[edge] === b && countsHere(graph, edge))
  return element === -1 ? undefined : element
}

/** Own treaties come first in the columns, so an own one is found before a reported one. */
export function placeInForce(graph: Graph, from: string, to: string): number | undefined {
  const [a, b] = [graph.placeOf.get(from), graph.placeOf.get(to)]
  const element = graph.from.findIndex(
    (node, edge) => node === a && graph.to[edge] === b && isInForce(graph.tone[edge]),
  )
  return element === -1 ? undefined : element
}

/** Returns the edges as the rule reads them. The treaty id is the position of the edge. */
function edgesInForce(graph: Graph): RecognitionEdge[] {
  const edges: RecognitionEdge[] = []
  for (let edge = 0; edge < graph.from.length; edge += 1) {
    if (!countsHere(graph, edge)) continue
    edges.push({
      from: graph.ids[graph.from[edge] ?? 0] ?? '',
      to: graph.ids[graph.to[edge] ?? 0] ?? '',
      treaty_id: String(edge),
      status: 'active',
      lifecycle_state: 'active',
      expiry_risk: 'low',
      valid_from: '',
      expires_at: '',
    })
  }
  return edges
}

function placesOf(graph: Graph, names: ReadonlySet<string>): readonly number[] {
  return [...names].flatMap((name) => graph.placeOf.get(name) ?? [])
}
