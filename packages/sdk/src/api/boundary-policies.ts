import { type BoundaryPolicyValidation, boundaryPolicies } from '@chancery/contract'
import { type BoundaryPolicy, type JsonObject, canonicalJson } from '@chancery/protocol'
import type { CallOptions, Connection, WriteOptions } from '../http/call.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/**
 * As operator. Activate an earlier version to roll back; a repeat changes nothing. `simulate` decides up to 1000
 * requests, or those of stored decisions, under the active policies and with this policy in force. For `verify`, which
 * is public, keys default to those of the called authority.
 */
export interface BoundaryPoliciesApi extends RouteApi<typeof boundaryPolicies> {
  /** Returns the issues of an intent; nothing is signed or stored. `texts` of the intent has the texts its gates name. */
  validate(intent: JsonObject, options?: CallOptions): Promise<BoundaryPolicyValidation>
  /** Signs the next version, inactive. After an unknown outcome it is repeated only with an idempotency key. */
  publish(intent: JsonObject, options?: WriteOptions): Promise<BoundaryPolicy>
}

export function boundaryPoliciesApi(connection: Connection): BoundaryPoliciesApi {
  const api: BoundaryPoliciesApi = routeApi(boundaryPolicies, connection)
  return {
    ...api,
    validate: async (intent, options) => api.validate(requireWhole(intent), options),
    publish: async (intent, options) => api.publish(requireWhole(intent), options),
  }
}

/** An undefined member would be left out, and a selector without it selects more. */
function requireWhole(intent: JsonObject): JsonObject {
  canonicalJson(intent)
  return intent
}
