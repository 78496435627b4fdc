import { Refusal } from '@chancery/contract'
import { type JsonObject, field, isPlainText } from '@chancery/protocol'
import {
  isPublicKeyText,
  readGrantedRoles,
  readOrRefuse,
  readValidityHours,
  refuseUnknownMembers,
} from '../../requests/read-fields.ts'

export interface IssueRequest {
  readonly subject_id: string
  readonly roles: readonly string[]
  readonly validityHours: number
  readonly subject_public_key: string | null
  readonly claims: JsonObject
}

const MEMBERS = ['subject_id', 'roles', 'validity_hours', 'issuer_sovereign_id', 'subject_public_key', 'claims']

/** protocol/core 14.2, checks in the order of its table. */
export function readIssueRequest(body: JsonObject, own: string, allowedRoles: readonly string[]): IssueRequest {
  refuseUnknownMembers(body, MEMBERS)
  const subject_id = body['subject_id']
  if (typeof subject_id !== 'string' || !isPlainText(subject_id, 256)) throw new Refusal('missing_attestation_subject')
  const given = body['roles']
  if (!Array.isArray(given) || given.length === 0) throw new Refusal('missing_attestation_subject')
  const roles = readGrantedRoles(given, 1, allowedRoles)
  const validityHours = readValidityHours(body['validity_hours'], 168, 26_280)
  const issuer = body['issuer_sovereign_id']
  if (issuer !== undefined && issuer !== own) throw new Refusal('attestation_issuer_mismatch')
  const key = body['subject_public_key'] ?? null
  if (key !== null && !isPublicKeyText(key)) throw new Refusal('invalid_public_key')
  const claims = body['claims'] ?? {}
  return {
    subject_id,
    roles,
    validityHours,
    subject_public_key: key,
    claims: readOrRefuse('invalid_input', () => field.freeForm(16_384)(claims, 'claims')),
  }
}
