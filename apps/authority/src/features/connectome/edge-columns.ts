import { compareCodePoints, compareEdges } from '@chancery/protocol'
import type { ExpiryRisk, LifecycleState, RecognitionEdge, RecognitionGraph, ReportedEdge } from '@chancery/protocol'

const STATES: readonly LifecycleState[] = ['active', 'expiring_soon', 'expired', 'revoked', 'replaced']
const RISKS: readonly ExpiryRisk[] = ['none', 'low', 'medium', 'high', 'expired']

/**
 * Edges as columns of numbers: `from` and `to` are indexes of `sovereigns`, `state` of `lifecycle_states`, `risk` of
 * `expiry_risks`.
 */
export type EdgeColumns = {
  readonly sovereigns: readonly string[]
  readonly lifecycle_states: readonly LifecycleState[]
  readonly from: readonly number[]
  readonly to: readonly number[]
  readonly state: readonly number[]
  readonly expiry_risks: readonly ExpiryRisk[]
  readonly risk: readonly number[]
}

/** The part of the graph that a map needs. It has a tenth of the size, because no name is repeated. */
export function listEdgeColumns(graph: RecognitionGraph<string>): EdgeColumns {
  const sovereigns = graph.sovereigns.map(({ sovereign_id }) => sovereign_id)
  return toColumns(sovereigns, [...graph.recognition_edges].sort(compareEdges))
}

/** Own edges first, then those that partners report; `origin` is 0 for own and 1 for reported edges. */
export function listAllEdgeColumns(
  graph: RecognitionGraph<string>,
  reported: readonly ReportedEdge[],
): EdgeColumns & { readonly origin: readonly number[] } {
  const own = [...graph.recognition_edges].sort(compareEdges)
  const names = new Set(graph.sovereigns.map(({ sovereign_id }) => sovereign_id))
  for (const { from, to } of reported) names.add(from).add(to)
  const columns = toColumns([...names].sort(compareCodePoints), [...own, ...[...reported].sort(compareEdges)])
  return { ...columns, origin: [...own.map(() => 0), ...reported.map(() => 1)] }
}

function toColumns(sovereigns: readonly string[], edges: readonly RecognitionEdge[]): EdgeColumns {
  const places = new Map(sovereigns.map((id, place) => [id, place]))
  return {
    sovereigns,
    lifecycle_states: STATES,
    from: edges.map((edge) => places.get(edge.from) ?? -1),
    to: edges.map((edge) => places.get(edge.to) ?? -1),
    state: edges.map((edge) => STATES.indexOf(edge.lifecycle_state)),
    expiry_risks: RISKS,
    risk: edges.map((edge) => RISKS.indexOf(edge.expiry_risk)),
  }
}
