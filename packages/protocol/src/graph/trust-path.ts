import type { RecognitionEdge } from './recognition-graph.ts'
import { type TrustIndex, pairName } from './trust-index.ts'

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
