import { type NodeDecision, type NodeDecisionRequest, boundary } from '@chancery/contract'
import type { CallOptions, Connection } from '../http/call.ts'
import { requireNode } from '../http/node-signing.ts'
import { json, nameTexts, omitUndefined } from '../http/read-response.ts'

export type DecisionRequest = (request: NodeDecisionRequest, options?: CallOptions) => Promise<NodeDecision>

/** Asks for a decision with the node key of a connection. */
export function decisionRequest({ call, node }: Connection): DecisionRequest {
  const { evaluate, request: route } = boundary
  return (request, options) => {
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
  }
}
