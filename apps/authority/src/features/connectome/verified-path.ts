import type { ExplainedPath } from '@chancery/protocol'
import type { ConnectomeState } from './state.ts'
import type { PathRequest } from './views.ts'

/** Returns the path between two sovereigns after verifying each of its own treaties. */
export function findVerifiedPath(parts: ConnectomeState, asked: PathRequest): Promise<ExplainedPath> {
  return parts.graph.ask(
    parts,
    (graph) => graph.trustPath(asked),
    ({ path }) => path.filter(({ origin }) => origin === 'own').map((edge) => edge.treaty_id),
  )
}
