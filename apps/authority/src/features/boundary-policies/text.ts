import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryPoliciesState } from './state.ts'

/**
 * GET /admin/boundary-policy-texts/{text_digest}
 * Returns a text that policies name by its digest.
 */
export async function text(call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  const text_digest = call.params['text_digest'] ?? ''
  const found = /^[0-9a-f]{64}$/.test(text_digest) ? await parts.engines.texts.find(text_digest) : undefined
  if (found === undefined) throw new Refusal('boundary_policy_text_not_found')
  return { text_digest, text: found }
}
