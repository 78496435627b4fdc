import { createHash } from 'node:crypto'
import type { JsonObject } from '@chancery/protocol'

const SCHEMA = `entity Member; entity Secret;
action "secret.rotate" appliesTo { principal: Member, resource: Secret, context: {
  request_parameters: { id: String, s?: String },
} };`
/** Long patterns that nearly fit: a comparison takes the product of both lengths. */
export const SLOW_RULES: string = Array.from(
  { length: 25 },
  (_, n) => `@id("p${n}") forbid(principal, action, resource) when {
    context.request_parameters has s && context.request_parameters.s like "*${'a'.repeat(2000)}b${n}" };`,
).join('\n')
const VALIDITY = { valid_from: '2020-01-01T00:00:00Z', valid_until: '2090-01-01T00:00:00Z' }
/** What the Cedar policy of the setup decides. */
export const CEDAR_CAPABILITY = 'secret.rotate'

const sha256 = (text: string): string => createHash('sha256').update(text).digest('hex')

/** A policy that asks Cedar. */
export function cedarIntent(
  policy_id: string,
  rules = '@id("ok") permit(principal, action, resource);',
): JsonObject & { readonly policy_id: string } {
  const config = {
    policy_set_digest: sha256(rules),
    schema_digest: sha256(SCHEMA),
    principal: { type: 'Member', id: 'requester_sovereign_id' },
    action: { type: 'Action', id: 'requested_capability' },
    resource: { type: 'Secret', id: 'request_parameters.id' },
    context: ['request_parameters'],
  }
  const gates = [{ gate_id: 'g', gate_type: 'cedar.v1', order: 0, config }]
  return { policy_id, ...VALIDITY, selector: { capabilities: [CEDAR_CAPABILITY] }, gates, texts: [rules, SCHEMA] }
}

/** What a policy decides that asks another system. */
export const FACT_CAPABILITY = 'credit.read'

/** A policy that asks the other system about the parameter `caller`. */
export function factIntent(origin: string): JsonObject & { readonly policy_id: string } {
  const fact = (name: string): JsonObject => ({ fact: `request_parameters.${name}` })
  const question = { input: { caller: fact('caller'), n: fact('n') } }
  const config = { origin, path: '/v1/credit', question, answer: { path: 'result' }, time_limit_ms: 700 }
  const gates = [{ gate_id: 'credit', gate_type: 'external_fact.v1', order: 0, config }]
  return { policy_id: 'credits', ...VALIDITY, selector: { capabilities: [FACT_CAPABILITY] }, gates }
}

/** A policy without Cedar, for `ledger.read` unless another capability is given. */
export function amountIntent(
  policy_id: string,
  capability = 'ledger.read',
): JsonObject & { readonly policy_id: string } {
  const config = { path: 'request_parameters.amount', max: 1000 }
  const gates = [{ gate_id: 'limit', gate_type: 'max_value.v1', order: 0, config }]
  return { policy_id, ...VALIDITY, selector: { capabilities: [capability] }, gates }
}
