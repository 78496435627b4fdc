import { type LostPaths, type RecognitionEdge, findLostPaths } from '@chancery/protocol'
import { type Graph, countsHere, isInForce } from './graph.ts'

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
