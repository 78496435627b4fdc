import { compareEdges, isActiveEdge, isRevokedEdge } from './recognition-graph.ts'
import type { RecognitionEdge } from './recognition-graph.ts'

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

/** Edges prepared for many searches: neighbours in order, withdrawn treaties by pair. */
export interface TrustIndex {
  readonly neighbours: ReadonlyMap<string, readonly RecognitionEdge[]>
  readonly withdrawn: ReadonlyMap<string, RecognitionEdge>
}

export function indexEdges(edges: readonly RecognitionEdge[]): TrustIndex {
  const neighbours = new Map<string, RecognitionEdge[]>()
  const withdrawn = new Map<string, RecognitionEdge>()
  for (const edge of [...edges].sort(compareEdges)) {
    if (isActiveEdge(edge)) {
      const list = neighbours.get(edge.from)
      if (list === undefined) neighbours.set(edge.from, [edge])
      else list.push(edge)
    } else if (isRevokedEdge(edge)) {
      const pair = pairName(edge.from, edge.to)
      // Sorted, so the first is the one with the smallest treaty id.
      if (!withdrawn.has(pair)) withdrawn.set(pair, edge)
    }
  }
  return { neighbours, withdrawn }
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

function search(index: TrustIndex, from: string, to: string): RecognitionEdge[] | undefined {
  const arrivedBy = new Map<string, RecognitionEdge | undefined>([[from, undefined]])
  let frontier = [from]
  for (let hop = 1; hop <= MAX_HOPS && frontier.length > 0; hop += 1) {
    const next: string[] = []
    for (const sovereign of frontier) {
      for (const edge of index.neighbours.get(sovereign) ?? []) {
        if (arrivedBy.has(edge.to)) continue
        arrivedBy.set(edge.to, edge)
        if (edge.to === to) return trace(arrivedBy, to)
        next.push(edge.to)
      }
    }
    frontier = next
  }
  return undefined
}

function trace(arrivedBy: ReadonlyMap<string, RecognitionEdge | undefined>, to: string): RecognitionEdge[] {
  const path: RecognitionEdge[] = []
  for (let edge = arrivedBy.get(to); edge !== undefined; edge = arrivedBy.get(edge.from)) path.unshift(edge)
  return path
}

function pairName(from: string, to: string): string {
  // Neither id can hold a line break, so no two pairs share a name.
  return `${from}\n${to}`
}
