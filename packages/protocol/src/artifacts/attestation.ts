import type { JsonObject, JsonValue } from '../canonical/json-value.ts'
import { type Instant, hours, writeInstant } from '../canonical/time.ts'
import type { ReadBy } from '../reading/read.ts'
import { arrayOf, closed, nullable, oneOf, readRecord, required, withDefault } from '../reading/shape.ts'
import { freeForm, identifier, plainText, requireOrder, signatures, timestamp } from '../reading/text.ts'

export const STANDINGS = ['active', 'suspended', 'revoked'] as const
export type AttestationStatus = (typeof STANDINGS)[number]

export const attestationShape = closed({
  attestation_id: required(identifier),
  issuer_sovereign_id: required(identifier),
  subject_id: required(plainText(256)),
  // Foreign issuers bind other kinds of keys; only what this authority issues must be an Ed25519 key.
  subject_public_key: withDefault(nullable(plainText(256, 0)), null),
  roles: withDefault(arrayOf(plainText(128), { max: 64 }), []),
  status: withDefault(oneOf(...STANDINGS), 'active'),
  issued_at: required(timestamp),
  valid_from: required(timestamp),
  expires_at: required(timestamp),
  issued_by: required(identifier),
  claims: withDefault(freeForm(16_384), {}),
  signatures: withDefault(signatures, []),
})

/** Portable evidence that a subject is a member of a sovereign network (protocol/core 14.1). */
export type Attestation = ReadBy<typeof attestationShape>

export function readAttestation(value: JsonValue): Attestation {
  const attestation = readRecord(attestationShape, value)
  requireOrder(attestation, 'issued_at', '<=', 'expires_at')
  requireOrder(attestation, 'valid_from', '<', 'expires_at')
  return attestation
}

export function draftAttestation(facts: {
  readonly attestation_id: string
  readonly issuer_sovereign_id: string
  readonly subject_id: string
  readonly subject_public_key: string | null
  readonly roles: readonly string[]
  readonly claims: JsonObject
  readonly issued_by: string
  readonly now: Instant
  readonly validityHours: number
}): Attestation {
  const { now, validityHours, ...named } = facts
  const issued = writeInstant(now)
  const window = { issued_at: issued, valid_from: issued, expires_at: writeInstant(now + hours(validityHours)) }
  return { ...named, ...window, status: 'active', signatures: [] }
}
