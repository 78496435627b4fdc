import { Refusal } from '@chancery/contract'
import { type AdmissionTerms, FormError, type JsonObject, isRoleAllowed, readAdmissionTerms } from '@chancery/protocol'
import { isPublicKeyText, refuseUnknownMembers, shorten } from '../../requests/read-fields.ts'
import { type Evidence, readEvidence } from './evidence.ts'

const TERMS = [
  'rule_id',
  'kind',
  'platform',
  'issuer',
  'trust_domain',
  'jwks_url',
  'bundle_url',
  'keys',
  'audience',
  'algorithms',
  'required_claims',
  'roles',
  'max_validity_hours',
  'valid_from',
  'expires_at',
  'max_joins',
  'grace_hours',
]

export function readAddRequest(body: JsonObject, allowedRoles: readonly string[]): AdmissionTerms {
  refuseUnknownMembers(body, TERMS)
  const terms = readTerms(body)
  if (!terms.roles.every((role) => isRoleAllowed(role, allowedRoles))) throw new Refusal('invalid_role')
  return terms
}

function readTerms(body: JsonObject): AdmissionTerms {
  try {
    return readAdmissionTerms(body)
  } catch (error) {
    if (!(error instanceof FormError)) throw error
    const details = { field: shorten(error.field), problem: shorten(error.problem) }
    throw new Refusal('invalid_admission_rule', details, { cause: error })
  }
}

export interface TestRequest {
  readonly evidence: Evidence
  readonly node_public_key: string | undefined
}

export function readTestRequest(body: JsonObject, rule_id: string): TestRequest {
  refuseUnknownMembers(body, ['token', 'certificate_chain', 'node_public_key'])
  const { node_public_key, ...given } = body
  if (node_public_key !== undefined && !isPublicKeyText(node_public_key)) throw new Refusal('invalid_public_key')
  return { evidence: readEvidence({ ...given, rule_id }), node_public_key }
}
