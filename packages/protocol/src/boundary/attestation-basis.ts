import { type Attestation, readAttestation } from '../artifacts/attestation.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { digestOf } from '../canonical/digest.ts'
import { type JsonValue, isJsonObject } from '../canonical/utf8.ts'
import { readJson } from '../canonical/read-json.ts'
import { readOrUndefined } from '../reading/read-or-undefined.ts'
import { verifyList } from '../signing/verify-any.ts'

export type AttestationFailure =
  | 'attestation_not_found'
  | 'attestation_invalid'
  | 'attestation_revoked'
  | 'attestation_subject_mismatch'

/** What the store holds about the attestation a request names. */
export interface StoredAttestation {
  readonly attestation_json: string
  readonly issuer_sovereign_id: string
  readonly status: string
  /** Withdrawn here, or listed in an imported feed of its issuer. */
  readonly isRevoked: boolean
  /** Highest sequence of imported feeds of its issuer, 0 when none. */
  readonly revocationSequence: number
}

/** An assessed attestation: what the record says, and the first reason not to rely on it. */
export interface AttestationBasis {
  readonly kind: 'attestation'
  readonly attestation_id: string
  readonly failure: AttestationFailure | undefined
  readonly found: boolean
  /** The stored record, when its text is one. */
  readonly attestation: Attestation | undefined
  /** True once the record is known to be ours: only then may a policy read it. */
  readonly isVerified: boolean
  readonly requester: string
  readonly attestation_digest: string | null
  readonly revocation_seq_checked: number
}

/** What the stored text alone says, under the keys it was checked with. */
export interface CheckedAttestation {
  /** The text as an attestation, when it is one. */
  readonly attestation: Attestation | undefined
  readonly isSigned: boolean
  readonly attestation_digest: string | null
}

/** The part of the assessment that depends on the stored text and our keys only, so it can be cached for equal texts. */
export async function checkAttestationText(text: string, keys: readonly string[]): Promise<CheckedAttestation> {
  const value = tryJson(text)
  const attestation = value === undefined ? undefined : tryAttestation(value)
  return {
    attestation,
    isSigned: attestation !== undefined && (await verifyList(attestation, keys)),
    attestation_digest: value === undefined ? null : attestationDigest(value),
  }
}

/** The label of an unnamed requester with an unknown attestation. */
const UNKNOWN = 'unknown'

/**
 * The assessment of protocol/trust-operations 4.4. Never an error: an attestation that cannot be used is a reason to
 * deny, and the denial is signed.
 * 1. There is one. 2. It is this record, and we signed it: a row edited behind our back grants nothing, and its columns
 *    cannot hide a revocation by naming another issuer.
 * 3., 4. It is not revoked. 5. The requester is its subject: an attestation of another subject grants nothing.
 */
export function assessAttestation(
  asked: { readonly attestation_id: string; readonly requester: string | undefined },
  stored: StoredAttestation | undefined,
  checked: CheckedAttestation | undefined,
): AttestationBasis {
  const { attestation_id } = asked
  const attestation = checked?.attestation
  const isThisRow =
    attestation?.attestation_id === attestation_id && attestation.issuer_sovereign_id === stored?.issuer_sovereign_id
  const isVerified = isThisRow && checked?.isSigned === true
  const requester = asked.requester ?? attestation?.subject_id ?? UNKNOWN
  return {
    kind: 'attestation',
    attestation_id,
    failure: findFailure(stored, attestation, { isVerified, requester }),
    found: stored !== undefined,
    attestation,
    isVerified,
    requester,
    attestation_digest: checked?.attestation_digest ?? null,
    revocation_seq_checked: stored?.revocationSequence ?? 0,
  }
}

function findFailure(
  stored: StoredAttestation | undefined,
  attestation: Attestation | undefined,
  { isVerified, requester }: { readonly isVerified: boolean; readonly requester: string },
): AttestationFailure | undefined {
  if (stored === undefined) return 'attestation_not_found'
  if (attestation === undefined || !isVerified) return 'attestation_invalid'
  if (stored.isRevoked) return 'attestation_revoked'
  if (attestation.status !== 'active' || stored.status !== 'active') return 'attestation_revoked'
  return requester === attestation.subject_id ? undefined : 'attestation_subject_mismatch'
}

function tryJson(text: string): JsonValue | undefined {
  return readOrUndefined(() => readJson(text))
}

/** A record with members its type does not know, or a spelling it was not signed in, is none of ours. */
function tryAttestation(value: JsonValue): Attestation | undefined {
  const attestation = readOrUndefined(() => readAttestation(value))
  return attestation !== undefined && canonicalJson(attestation) === canonicalJson(value) ? attestation : undefined
}

/** H(C(attestation without signatures)) of the stored record, also when it does not verify: it names what was seen. */
function attestationDigest(value: JsonValue): string | null {
  if (!isJsonObject(value)) return null
  const { signatures: _signatures, ...body } = value
  return digestOf(body)
}
