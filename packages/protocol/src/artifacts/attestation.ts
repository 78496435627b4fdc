import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { type Instant, hours } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { FormError, type ReadBy } from '../reading/schema.ts'
import { arrayOf, closed, nullable, oneOf, readRecord, required, withDefault } from '../reading/shape.ts'
import { freeForm, identifier, plainText, publicKey, requireOrder, signatures, timestamp } from '../reading/text.ts'
import { sortCodePoints } from '../canonical/canonical-json.ts'

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

const issuer = closed({
  sovereign_id: required(identifier),
  public_keys: required(arrayOf(publicKey, { min: 1, max: 16 })),
  allowed_roles: withDefault(arrayOf(plainText(128), { max: 64 }), []),
  accepted_statuses: withDefault(arrayOf(oneOf(...STANDINGS), { max: 3 }), ['active'] as readonly AttestationStatus[]),
})

export type RecognizedIssuer = ReadBy<typeof issuer>

export const recognitionPolicyShape = closed({
  local_sovereign_id: required(identifier),
  recognized_issuers: withDefault(arrayOf(issuer, { max: 256 }), []),
  /** A set: sorted by code point, each id once. */
  revoked_attestation_ids: withDefault(arrayOf(identifier, { max: 50_000 }), []),
})

/** Whose attestations this sovereign accepts; a local document, not signed (protocol/core 16). */
export type RecognitionPolicy = ReadBy<typeof recognitionPolicyShape>

export function readRecognitionPolicy(value: JsonValue): RecognitionPolicy {
  const policy = readRecord(recognitionPolicyShape, value)
  const names = policy.recognized_issuers.map((each) => each.sovereign_id)
  // Two entries for one issuer would leave open which of them rules.
  if (new Set(names).size !== names.length) throw new FormError('recognized_issuers', 'repeats an issuer')
  const ids = sortCodePoints([...new Set(policy.revoked_attestation_ids)])
  return { ...policy, revoked_attestation_ids: ids }
}
