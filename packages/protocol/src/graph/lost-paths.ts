import { type RecognitionEdge, isActiveEdge } from './recognition-graph.ts'
import { indexEdges } from './trust-index.ts'
import { reachableFrom } from './trust-path.ts'

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
