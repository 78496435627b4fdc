import type { TrustPath } from '@chancery/protocol'
import type { ConnectomeState } from './state.ts'

/** Returns the path between two sovereigns after verifying each of its treaties. */
export function findVerifiedPath(parts: ConnectomeState, from: string, to: string): Promise<TrustPath> {
  return parts.graph.ask(
    parts,
    (graph) => graph.trustPath(from, to),
    ({ path }) => path.map((edge) => edge.treaty_id),
  )
}
