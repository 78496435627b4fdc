import { type RecognitionEdge, isActiveEdge } from './recognition-graph.ts'
import { type TrustIndex, indexEdges, pairName } from './trust-index.ts'

/** Longer chains explain nothing to anyone; the bound also bounds the search (protocol/core 20.3). */
export const MAX_HOPS = 16

export type TrustPath = {
  readonly from: string
  readonly to: string
  readonly trusted: boolean
  readonly reason: 'active_treaty_path' | 'direct_treaty_revoked' | 'no_active_treaty_path'
  readonly path: readonly RecognitionEdge[]
  readonly hop_count: number
}

/**
 * Breadth first over active edges, neighbours in their order, each sovereign visited once; the first path wins. It
 * explains the graph and makes no treaty transitive.
 */
export function findTrustPath(index: TrustIndex, from: string, to: string): TrustPath {
  const path = from === to ? undefined : search(index, from, to)
  if (path !== undefined) return { from, to, trusted: true, reason: 'active_treaty_path', path, hop_count: path.length }
  const revoked = index.withdrawn.get(pairName(from, to))
  if (revoked !== undefined)
    return { from, to, trusted: false, reason: 'direct_treaty_revoked', path: [revoked], hop_count: 0 }
  return { from, to, trusted: false, reason: 'no_active_treaty_path', path: [], hop_count: 0 }
}

const UNSEEN = -2
const START = -1

function search(index: TrustIndex, from: string, to: string): RecognitionEdge[] | undefined {
  const [start, goal] = [index.numbers.get(from), index.numbers.get(to)]
  if (start === undefined || goal === undefined) return undefined
  const arrivedBy = walk(index, start, goal)
  return arrivedBy[goal] === UNSEEN ? undefined : trace(index, arrivedBy, goal)
}

/** Everything within the longest path that is searched, the start included. */
export function reachableFrom(index: TrustIndex, from: string): ReadonlySet<string> {
  const start = index.numbers.get(from)
  if (start === undefined) return new Set([from])
  const arrivedBy = walk(index, start, undefined)
  return new Set(index.names.filter((_, number) => arrivedBy[number] !== UNSEEN))
}

/** By which edge each sovereign was first reached; ends early at the goal. */
function walk(index: TrustIndex, start: number, goal: number | undefined): Int32Array {
  const { starts, targets } = index
  const arrivedBy = new Int32Array(index.names.length).fill(UNSEEN)
  arrivedBy[start] = START
  let frontier = [start]
  for (let hop = 1; hop <= MAX_HOPS && frontier.length > 0; hop += 1) {
    const next: number[] = []
    for (const sovereign of frontier) {
      const end = starts[sovereign + 1] ?? 0
      for (let at = starts[sovereign] ?? 0; at < end; at += 1) {
        const target = targets[at] ?? 0
        if (arrivedBy[target] !== UNSEEN) continue
        arrivedBy[target] = at
        if (target === goal) return arrivedBy
        next.push(target)
      }
    }
    frontier = next
  }
  return arrivedBy
}

function trace({ edges, numbers }: TrustIndex, arrivedBy: Int32Array, goal: number): RecognitionEdge[] {
  const path: RecognitionEdge[] = []
  for (let at = arrivedBy[goal]; at !== undefined && at !== START;) {
    const edge = edges[at]
    if (edge === undefined) throw new Error('an edge of the path is missing')
    path.unshift(edge)
    at = arrivedBy[numbers.get(edge.from) ?? goal]
  }
  return path
}

/** What would be cut off: pairs of sovereigns joined by a path now and by none afterwards. */
export type LostPaths = {
  /** Pairs found; a lower bound when `complete` is false. */
  readonly count: number
  readonly complete: boolean
  readonly sample: readonly { readonly from: string; readonly to: string }[]
  /** True when no other active treaty joins the two parties directly. */
  readonly direct_recognition_lost: boolean
}

const SAMPLE = 20
const MAX_SOURCES = 500

/** Compares what each sovereign that can reach the treaty's issuer reaches with and without the treaty. */
export function findLostPaths(
  edges: readonly RecognitionEdge[],
  treaty_id: string,
  maxSources: number = MAX_SOURCES,
): LostPaths {
  const ended = edges.find((edge) => edge.treaty_id === treaty_id && isActiveEdge(edge))
  if (ended === undefined) return { count: 0, complete: true, sample: [], direct_recognition_lost: false }
  const rest = edges.filter((edge) => edge !== ended)
  const [before, after] = [indexEdges(edges), indexEdges(rest)]
  const direct_recognition_lost = !rest.some(
    (edge) => edge.from === ended.from && edge.to === ended.to && isActiveEdge(edge),
  )
  if (!direct_recognition_lost) return { count: 0, complete: true, sample: [], direct_recognition_lost }
  const sources = [...reachableFrom(indexEdges(rest.map(reversed)), ended.from)].sort()
  const sample: { from: string; to: string }[] = []
  let count = 0
  for (const from of sources.slice(0, maxSources)) {
    const left = reachableFrom(after, from)
    for (const to of reachableFrom(before, from)) {
      if (left.has(to) || to === from) continue
      count += 1
      if (sample.length < SAMPLE) sample.push({ from, to })
    }
  }
  return { count, complete: sources.length <= maxSources, sample, direct_recognition_lost }
}

function reversed(edge: RecognitionEdge): RecognitionEdge {
  return { ...edge, from: edge.to, to: edge.from }
}

/** A treaty that a partner lists. It is shown, and is not the basis of a decision, a finding, a digest or a key. */
export type ReportedEdge = RecognitionEdge & {
  readonly origin: 'reported'
  readonly reported_by: string
  readonly as_of: string
  readonly freshness: 'fresh' | 'watch'
}

export type PathEdge = RecognitionEdge &
  ({ readonly origin: 'own' } | { readonly origin: 'reported'; readonly reported_by: string; readonly as_of: string })

export type ExplainedPath = {
  readonly from: string
  readonly to: string
  /** True only when every hop is an own treaty in force. */
  readonly trusted: boolean
  readonly reason: TrustPath['reason'] | 'reported_treaty_path'
  readonly path: readonly PathEdge[]
  readonly hop_count: number
  readonly own_hops: number
  readonly reported_hops: number
}

/**
 * The path over own treaties; without one, and without an ended own treaty between the two, the path that reported
 * treaties complete. `mixed` has the own active and the reported edges.
 */
export function explainPath(own: TrustIndex, mixed: TrustIndex | undefined, from: string, to: string): ExplainedPath {
  const found = findTrustPath(own, from, to)
  if (found.reason !== 'no_active_treaty_path' || mixed === undefined) return withOrigins(found)
  const reported = findTrustPath(mixed, from, to)
  if (!reported.trusted || reported.hop_count > MAX_HOPS) return withOrigins(found)
  return withOrigins({ ...reported, trusted: false, reason: 'reported_treaty_path' })
}

function withOrigins(found: Omit<TrustPath, 'reason'> & { readonly reason: ExplainedPath['reason'] }): ExplainedPath {
  const path = found.path.map(withOrigin)
  const reported_hops = path.filter(({ origin }) => origin === 'reported').length
  return { ...found, path, own_hops: found.hop_count - reported_hops, reported_hops }
}

function withOrigin(edge: RecognitionEdge | ReportedEdge): PathEdge {
  if (!('origin' in edge)) return { ...edge, origin: 'own' }
  const { freshness: _none, ...rest } = edge
  return rest
}
