import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { type Instant, hours } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import type { ReadBy } from '../reading/schema.ts'
import { arrayOf, closed, oneOf, readRecord, required, withDefault } from '../reading/shape.ts'
import { freeForm, identifier, plainText, publicKey, requireOrder, signatures, timestamp } from '../reading/text.ts'
import { STANDINGS } from './attestation.ts'

const EMPTY_SCOPE = { allowed_roles: [], accepted_statuses: ['active'], claims: {} } as const

const scope = closed({
  /** Roles accepted from the subject; an empty list accepts nothing. */
  allowed_roles: withDefault(arrayOf(plainText(128), { max: 64 }), EMPTY_SCOPE.allowed_roles),
  accepted_statuses: withDefault(arrayOf(oneOf(...STANDINGS), { max: 3 }), EMPTY_SCOPE.accepted_statuses),
  /** Labels only, never a restriction. */
  claims: withDefault(freeForm(16_384), EMPTY_SCOPE.claims),
})

export type TreatyScope = ReadBy<typeof scope>

export const recognitionTreatyShape = closed({
  treaty_id: required(identifier),
  issuer_sovereign_id: required(identifier),
  subject_sovereign_id: required(identifier),
  subject_public_keys: required(arrayOf(publicKey, { min: 1, max: 16 })),
  scope: withDefault(scope, EMPTY_SCOPE),
  status: withDefault(oneOf(...STANDINGS), 'active'),
  issued_at: required(timestamp),
  valid_from: required(timestamp),
  expires_at: required(timestamp),
  issued_by: required(identifier),
  metadata: withDefault(freeForm(16_384), {}),
  signatures: withDefault(signatures, []),
})

/** One sovereign's recognition of another, for a scope and a time (protocol/core 15.1). */
export type RecognitionTreaty = ReadBy<typeof recognitionTreatyShape>

export function readRecognitionTreaty(value: JsonValue): RecognitionTreaty {
  const treaty = readRecord(recognitionTreatyShape, value)
  requireOrder(treaty, 'issued_at', '<=', 'expires_at')
  requireOrder(treaty, 'valid_from', '<', 'expires_at')
  return treaty
}

export function readTreatyScope(value: JsonValue): TreatyScope {
  return readRecord(scope, value)
}

export function draftRecognitionTreaty(facts: {
  readonly treaty_id: string
  readonly issuer_sovereign_id: string
  readonly subject_sovereign_id: string
  readonly subject_public_keys: readonly string[]
  readonly scope: TreatyScope
  readonly metadata: JsonObject
  readonly issued_by: string
  readonly now: Instant
  readonly validityHours: number
}): RecognitionTreaty {
  const { now, validityHours, ...named } = facts
  const issued = writeInstant(now)
  const window = { issued_at: issued, valid_from: issued, expires_at: writeInstant(now + hours(validityHours)) }
  return { ...named, ...window, status: 'active', signatures: [] }
}
