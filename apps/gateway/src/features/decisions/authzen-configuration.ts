import { GATEWAY_ROUTES, GatewayRefusal } from '@chancery/contract'
import { type HttpResponse, json } from '@chancery/service-kit'
import type { GatewayCall } from '../../edge/call.ts'

/**
 * GET /.well-known/authzen-configuration
 * Returns the AuthZEN metadata. Its addresses come from the policy file, never from a header of the caller.
 */
export function authzenConfiguration({ trust }: GatewayCall): HttpResponse {
  const base = trust?.policy.decisionPointUrl
  if (base === undefined) throw new GatewayRefusal('route_not_found')
  return json({
    policy_decision_point: base,
    access_evaluation_endpoint: `${base}${GATEWAY_ROUTES.accessEvaluation.path}`,
    access_evaluations_endpoint: `${base}${GATEWAY_ROUTES.accessEvaluations.path}`,
  })
}
