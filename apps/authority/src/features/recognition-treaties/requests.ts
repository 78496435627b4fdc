import { Refusal } from '@chancery/contract'
import { field, isIssuableScope, isPlainText, readTreatyScope } from '@chancery/protocol'
import type { JsonObject, TreatyScope } from '@chancery/protocol'
import {
  isPublicKeyText,
  readGrantedRoles,
  readOrRefuse,
  readValidityHours,
  refuseUnknownMembers,
} from '../../requests/read-fields.ts'

export interface IssueRequest {
  readonly subject_sovereign_id: string
  readonly subject_public_keys: readonly string[]
  readonly scope: TreatyScope
  readonly validityHours: number
  readonly metadata: JsonObject
}

const MEMBERS = [
  'subject_sovereign_id',
  'subject_public_keys',
  'scope',
  'validity_hours',
  'issuer_sovereign_id',
  'metadata',
]

/** protocol/core 15.2, checks in the order of its table. */
export function readIssueRequest(body: JsonObject, own: string, allowedRoles: readonly string[]): IssueRequest {
  refuseUnknownMembers(body, MEMBERS)
  const subject = body['subject_sovereign_id']
  if (typeof subject !== 'string' || !isPlainText(subject, 128)) throw new Refusal('missing_treaty_subject')
  const subject_public_keys = readSubjectKeys(body)
  const scope = readScope(body, allowedRoles)
  const validityHours = readValidityHours(body['validity_hours'], 168, 26_280)
  const issuer = body['issuer_sovereign_id']
  if (issuer !== undefined && issuer !== own) throw new Refusal('wrong_issuer')
  const metadata = readOrRefuse('invalid_input', () => field.freeForm(16_384)(body['metadata'] ?? {}, 'metadata'))
  // A treaty with oneself has no meaning and would make every path a circle.
  if (subject === own) throw new Refusal('invalid_recognition_treaty')
  return { subject_sovereign_id: subject, subject_public_keys, scope, validityHours, metadata }
}

function readSubjectKeys(body: JsonObject): readonly string[] {
  const keys = body['subject_public_keys']
  if (!Array.isArray(keys)) throw new Refusal('missing_treaty_subject')
  if (keys.length === 0) throw new Refusal('empty_subject_public_keys')
  const isGood = keys.length <= 16 && keys.every(isPublicKeyText) && new Set(keys).size === keys.length
  if (!isGood) throw new Refusal('invalid_public_keys')
  return keys
}

function readScope(body: JsonObject, allowedRoles: readonly string[]): TreatyScope {
  const scope = readOrRefuse('invalid_treaty_scope', () => readTreatyScope(body['scope'] ?? {}))
  readGrantedRoles(scope.allowed_roles, 0, allowedRoles)
  if (!isIssuableScope(scope)) throw new Refusal('invalid_treaty_scope', { field: 'claims' })
  return scope
}
