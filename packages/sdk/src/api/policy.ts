import { policy } from '@chancery/contract'
import { type JsonObject, type PolicyManifest, type PolicyTerms, readPolicyManifest, shape } from '@chancery/protocol'
import { json, known } from '../http/read-response.ts'
import type { CallOptions, Connection } from '../http/call.ts'
import { type PageQuery, type Paging, paging } from './page.ts'

export interface PolicyVersion {
  readonly policy_id: string
  readonly active: boolean
  readonly created_at: string
  readonly policy: PolicyManifest
}

export interface PolicyHistory extends Paging {
  /** Newest first. */
  readonly versions: readonly PolicyVersion[]
}

/** Members that an operator may set; absent members get the defaults of protocol/core 10.1. */
export type PolicyRequest = Partial<PolicyTerms> & { readonly policy_id?: string }

export interface PublishedPolicy {
  readonly manifest: PolicyManifest
  /** False when this version was stored before and is active again. */
  readonly created: boolean
}

export interface PolicyApi {
  current(options?: CallOptions): Promise<PolicyManifest>
  history(page?: PageQuery, options?: CallOptions): Promise<PolicyHistory>
  /** Signs and activates. With a policy_id it may be repeated; without one every repeat creates a new version. */
  publish(request: PolicyRequest | JsonObject, options?: CallOptions): Promise<PublishedPolicy>
  rollback(policyId: string, options?: CallOptions): Promise<PolicyManifest>
}

const readHistory = known({
  versions: shape.required(
    shape.arrayOf(
      known({
        policy_id: shape.required(shape.string),
        active: shape.required(shape.boolean),
        created_at: shape.required(shape.string),
        policy: shape.required((value): PolicyManifest => readPolicyManifest(value)),
      }),
      { max: 1000 },
    ),
  ),
  ...paging,
})

const readPublished = json(readPolicyManifest)

export function policyApi({ call }: Connection): PolicyApi {
  return {
    current: (options) => call({ route: policy.current, read: json(readPolicyManifest), options }),
    history: ({ limit, offset, cursor } = {}, options) =>
      call({
        route: policy.history,
        query: { limit, offset, cursor },
        read: json((value) => readHistory(value, '')),
        options,
      }),
    publish: (request, options) =>
      call({
        route: policy.publish,
        body: request,
        repeatable: request.policy_id !== undefined,
        read: (incoming) => ({ manifest: readPublished(incoming), created: incoming.status === 201 }),
        options,
      }),
    rollback: (policyId, options) =>
      call({
        route: policy.rollback,
        body: { policy_id: policyId },
        repeatable: true,
        read: json(readPolicyManifest),
        options,
      }),
  }
}
