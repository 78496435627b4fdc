import { CLOCK_TOLERANCE, type Instant } from '../canonical/time.ts'
import type { RecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import type { Attestation, RecognizedIssuer } from '../artifacts/attestation.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import { verifyList } from '../signing/verify-any.ts'
import { instantOf } from '../reading/text.ts'

export type AttestationReason =
  | 'unknown_issuer'
  | 'locally_revoked'
  | 'bad_status'
  | 'outside_validity_window'
  | 'role_not_allowed'
  | 'missing_signature'
  | 'invalid_signature'

/**
 * Whether an attestation is accepted under one issuer's entry (protocol/core 17.1, from check 3 on).
 * 3. The issuer is one we recognise: anyone can found a sovereign.
 * 4. It is not revoked, by us or by its issuer's feed.
 * 5., 6. Its status is active and accepted, and now is within its validity period.
 * 7. It grants something, and nothing beyond what we accept from this issuer.
 * 8., 9. One of the issuer's keys signed exactly this record; the label of the signature selects nothing.
 */
export async function verifyAttestation(
  attestation: Attestation,
  against: { readonly issuer: RecognizedIssuer | undefined; readonly isRevoked: boolean; readonly now: Instant },
): Promise<Verdict<AttestationReason>> {
  const { issuer, isRevoked, now } = against
  if (issuer === undefined) return invalid('unknown_issuer')
  if (isRevoked) return invalid('locally_revoked')
  if (!issuer.accepted_statuses.includes(attestation.status)) return invalid('bad_status')
  if (attestation.status !== 'active' || !isInside(attestation, now)) return invalid('outside_validity_window')
  const isGranted =
    attestation.roles.length > 0 && attestation.roles.every((role) => issuer.allowed_roles.includes(role))
  if (!isGranted) return invalid('role_not_allowed')
  if (attestation.signatures.length === 0) return invalid('missing_signature')
  return (await verifyList(attestation, issuer.public_keys)) ? VALID : invalid('invalid_signature')
}

/** Inside valid_from and expires_at, give or take the clock tolerance. */
export function isInside(record: { readonly valid_from: string; readonly expires_at: string }, now: Instant): boolean {
  return instantOf(record.valid_from) - CLOCK_TOLERANCE <= now && now <= instantOf(record.expires_at) + CLOCK_TOLERANCE
}

export type TreatyReason =
  | 'wrong_issuer'
  | 'wrong_subject'
  | 'locally_revoked'
  | 'bad_status'
  | 'outside_validity_window'
  | 'missing_signature'
  | 'invalid_signature'

/** Whether a treaty holds under keys already chosen for its issuer (protocol/core 17.2, from check 4 on). */
export async function verifyTreaty(
  treaty: RecognitionTreaty,
  against: {
    readonly keys: readonly string[]
    readonly expectedIssuer?: string | undefined
    readonly expectedSubject?: string | undefined
    readonly isRevoked: boolean
    readonly now: Instant
  },
): Promise<Verdict<TreatyReason>> {
  const { expectedIssuer, expectedSubject } = against
  if (expectedIssuer !== undefined && treaty.issuer_sovereign_id !== expectedIssuer) return invalid('wrong_issuer')
  if (expectedSubject !== undefined && treaty.subject_sovereign_id !== expectedSubject) return invalid('wrong_subject')
  if (against.isRevoked) return invalid('locally_revoked')
  if (treaty.status !== 'active') return invalid('bad_status')
  if (!isInside(treaty, against.now)) return invalid('outside_validity_window')
  if (treaty.signatures.length === 0) return invalid('missing_signature')
  return (await verifyList(treaty, against.keys)) ? VALID : invalid('invalid_signature')
}

/** What a treaty makes its subject: an issuer whose attestations are accepted within the scope, and no further. */
export function toRecognizedIssuer(treaty: RecognitionTreaty): RecognizedIssuer {
  return {
    sovereign_id: treaty.subject_sovereign_id,
    public_keys: treaty.subject_public_keys,
    allowed_roles: treaty.scope.allowed_roles,
    accepted_statuses: treaty.scope.accepted_statuses,
  }
}
