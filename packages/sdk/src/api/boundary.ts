import { type NodeDecision, type NodeDecisionRequest, boundary } from '@chancery/contract'
import type { CallOptions, Connection } from '../http/call.ts'
import { decisionRequest } from './decision-request.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/**
 * A denial is a signed decision, not an error. `evaluate` decides under the active policies, on an agreement or an
 * attestation; `decide` on the agreement alone, without policies. For `verify` keys default to those of the called
 * authority.
 */
export interface BoundaryApi extends RouteApi<typeof boundary> {
  /** Decides for the node key of the client, which signs the request. It needs no operator. */
  request(request: NodeDecisionRequest, options?: CallOptions): Promise<NodeDecision>
}

export function boundaryApi(connection: Connection): BoundaryApi {
  return { ...routeApi(boundary, connection), request: decisionRequest(connection) }
}
