import { policy } from '@chancery/contract'
import { type JsonObject, type PolicyManifest, type PolicyTerms, readPolicyManifest } from '@chancery/protocol'
import type { Connection, WriteOptions } from '../http/call.ts'
import { json } from '../http/read-response.ts'
import { type RouteApi, routeApi } from '../http/route-api.ts'

/** Members that an operator may set; absent members get the defaults of protocol/core 10.1. */
export type PolicyRequest = Partial<PolicyTerms> & { readonly policy_id?: string }

export interface PublishedPolicy {
  readonly manifest: PolicyManifest
  /** False when this version was stored before and is active again. */
  readonly created: boolean
}

export interface PolicyApi extends Omit<RouteApi<typeof policy>, 'publish'> {
  /** Signs and activates. With a policy_id it may be repeated; without one every repeat creates a new version. */
  publish(request: PolicyRequest | JsonObject, options?: WriteOptions): Promise<PublishedPolicy>
}

const readPublished = json(readPolicyManifest)

export function policyApi(connection: Connection): PolicyApi {
  return {
    ...routeApi(policy, connection),
    publish: (request, options) =>
      connection.call({
        route: policy.publish,
        body: request,
        idempotencyKey: options?.idempotencyKey,
        repeatable: request.policy_id !== undefined || options?.idempotencyKey !== undefined,
        read: (incoming) => ({ manifest: readPublished(incoming), created: incoming.status === 201 }),
        options,
      }),
  }
}
