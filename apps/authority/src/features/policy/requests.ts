import { Refusal } from '@chancery/contract'
import { FormError, type JsonObject, type PolicyTerms, isPlainText, readPolicyRequest } from '@chancery/protocol'
import { refuseUnknownMembers, shorten } from '../../requests/read-fields.ts'

const TERMS = ['policy_id', 'min_client_version', 'allowed_ports', 'allowed_services', 'routing']
/**
 * Accepted and ignored: operators may send a whole manifest back, but the authority sets these three (protocol/core
 * 10.2). Signatures in the request must verify.
 */
const IGNORED = ['issued_at', 'issued_by', 'signatures']

export function readPublishRequest(body: JsonObject): {
  readonly policy_id: string | null
  readonly terms: PolicyTerms
} {
  refuseUnknownMembers(body, [...TERMS, ...IGNORED])
  const chosen = Object.fromEntries(Object.entries(body).filter(([name]) => !IGNORED.includes(name)))
  // A policy of which nothing was said would replace the one in force by defaults.
  if (Object.keys(chosen).length === 0) throw new Refusal('invalid_policy', { reason: 'empty' })
  try {
    const { policy_id, ...terms } = readPolicyRequest(chosen)
    return { policy_id, terms }
  } catch (error) {
    if (error instanceof FormError)
      throw new Refusal('invalid_policy', { field: shorten(error.field) }, { cause: error })
    throw error
  }
}

export function readRollbackRequest(body: JsonObject): string {
  refuseUnknownMembers(body, ['policy_id'])
  const policy_id = body['policy_id']
  if (typeof policy_id !== 'string' || policy_id === '') throw new Refusal('missing_policy_id')
  // No stored id has another form, so no lookup is needed.
  if (!isPlainText(policy_id, 128)) throw new Refusal('policy_not_found')
  return policy_id
}
