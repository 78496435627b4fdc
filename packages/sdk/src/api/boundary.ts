import { type NodeDecision, type NodeDecisionRequest, boundary } from '@chancery/contract'
import { json, nameTexts, omitUndefined } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { requireNode } from '../http/node-signing.ts'
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
  const { call, node } = connection
  const { evaluate, request: route } = boundary
  return {
    ...routeApi(boundary, connection),
    request: (request, options) => {
      const caller = requireNode(node, 'a request for a decision')
      // Before the body is signed: the signature is over the body as sent.
      const members = nameTexts(omitUndefined(request), evaluate)
      return call({
        route,
        body: (now) => caller.prove('boundary-request', members, now),
        repeatable: request.idempotency_key !== undefined,
        read: json((value) => route.answer(value, '')),
        options,
      })
    },
  }
}
