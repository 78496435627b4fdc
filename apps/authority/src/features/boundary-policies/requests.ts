import { Refusal } from '@chancery/contract'
import { findPolicyIssues, readPolicyIntent } from '@chancery/protocol'
import type { BoundaryPolicyIntent, JsonObject, JsonValue, PolicyIssue } from '@chancery/protocol'
import { shorten } from '../../requests/read-fields.ts'
import { type SentTexts, readTexts } from './policy-texts.ts'

/** Assigned by the authority. A caller must not choose them. */
const ASSIGNED = ['version', 'signature', 'issued_at', 'issued_by', 'issuer_sovereign_id']
const MEMBERS = ['policy_id', 'description', 'valid_from', 'valid_until', 'selector', 'gates', 'texts']

export interface IntentRequest {
  readonly intent: BoundaryPolicyIntent
  readonly issues: readonly PolicyIssue[]
  readonly texts: SentTexts
}

/** Reads an intent with its validation issues. Rows 1 to 5 of protocol/trust-operations 5.2 refuse in this order. */
export function readIntentRequest(body: JsonObject): IntentRequest {
  refuseMembers(Object.keys(body).filter((name) => ASSIGNED.includes(name)))
  refuseMembers(Object.keys(body).filter((name) => !MEMBERS.includes(name)))
  const policy_id = body['policy_id']
  if (typeof policy_id !== 'string' || policy_id === '') throw new Refusal('missing_policy_id')
  if (isAbsent(body['valid_from']) || isAbsent(body['valid_until'])) throw new Refusal('missing_validity_window')
  const reading = readPolicyIntent(policy_id, body)
  if (!reading.ok)
    throw new Refusal('invalid_boundary_policy', { errors: reading.errors.map((error) => ({ ...error })) })
  const texts = readTexts(body['texts'], reading.intent)
  return { intent: reading.intent, issues: findPolicyIssues(reading.intent, reading), texts }
}

export function toJson(issue: PolicyIssue): JsonObject {
  return { ...issue }
}

function refuseMembers(names: readonly string[]): void {
  if (names.length > 0) throw new Refusal('unexpected_field', { fields: names.map(shorten).sort().slice(0, 64) })
}

function isAbsent(value: JsonValue | undefined): boolean {
  return value === undefined || value === null || value === ''
}

/** The version to activate or deactivate. */
export function readVersion(body: JsonObject): number {
  const version = body['version']
  if (typeof version !== 'number' || !Number.isSafeInteger(version) || version < 1)
    throw new Refusal('invalid_policy_version')
  return version
}
