import type { JsonObject } from '@chancery/protocol'
import { type TestAuthority, accepted } from '@chancery/testkit'

let counter = 0

/** An intent without issues. */
export function intent(members: JsonObject = {}): JsonObject {
  counter += 1
  return {
    policy_id: `policy-${counter}`,
    valid_from: '2020-01-01T00:00:00Z',
    valid_until: '2090-01-01T00:00:00Z',
    gates: [gate()],
    ...members,
  }
}

export function gate(members: JsonObject = {}): JsonObject {
  return {
    gate_id: 'limit',
    gate_type: 'max_value.v1',
    order: 0,
    config: { path: 'request_parameters.amount', max: 1000 },
    ...members,
  }
}

export async function publishPolicy(na: TestAuthority, members: JsonObject = {}): Promise<JsonObject> {
  return accepted(await na.as('privileged')('POST', '/admin/boundary-policies', intent(members)), 201)
}

export async function activatePolicy(na: TestAuthority, policy: JsonObject): Promise<JsonObject> {
  const target = `/admin/boundary-policies/${String(policy['policy_id'])}/activate`
  return accepted(await na.as('privileged')('POST', target, { version: policy['version'] ?? null }))
}

export async function deactivatePolicy(na: TestAuthority, policy: JsonObject): Promise<JsonObject> {
  const target = `/admin/boundary-policies/${String(policy['policy_id'])}/deactivate`
  return accepted(await na.as('privileged')('POST', target, { version: policy['version'] ?? null }))
}
