import { sortCodePoints } from '../canonical/canonical-json.ts'
import type { JsonValue } from '../canonical/json-value.ts'
import type { ReadBy } from '../reading/read.ts'
import { FormError } from '../reading/form-error.ts'
import { arrayOf, closed, oneOf, readRecord, required, withDefault } from '../reading/shape.ts'
import { identifier, plainText, publicKey } from '../reading/text.ts'
import { type AttestationStatus, STANDINGS } from './attestation.ts'

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
