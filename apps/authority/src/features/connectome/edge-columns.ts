import { compareEdges } from '@chancery/protocol'
import type { ExpiryRisk, LifecycleState, RecognitionGraph } from '@chancery/protocol'

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
  const places = new Map(sovereigns.map((id, place) => [id, place]))
  const edges = [...graph.recognition_edges].sort(compareEdges)
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
