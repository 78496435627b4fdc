import type { Instant } from '../canonical/time.ts'
import type { RecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import type { RecognizedIssuer } from '../artifacts/recognition-policy.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import { verifyList } from '../signing/forms.ts'
import { isInside } from './verify-attestation.ts'

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
