import type { ReadBy } from '../reading/read.ts'
import { instantOf } from '../reading/text.ts'
import { integer, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { signedOnceForm, yes } from '../reading/trust-form.ts'
import { type Received, verifyReceivedPlainly } from '../signing/received.ts'
import type { Instant } from '../canonical/time.ts'
import { VALID, type Verdict, invalid } from './verdict.ts'

/** How long a proof, and a decision, is good for. */
export const PROOF_LIFETIME_SECONDS = 300

export const freshnessProofForm = signedOnceForm({
  proof_id: yes(identifier),
  feed_sovereign_id: yes(identifier),
  feed_sequence: yes(integer(0, Number.MAX_SAFE_INTEGER)),
  /** H(C(feed without signatures)) at that sequence. */
  feed_digest: yes(string),
  attested_at: yes(timestamp),
  proof_valid_until: yes(timestamp),
  issuer_sovereign_id: yes(identifier),
})

/** Proves that a party had a revocation feed with a sequence at a time (protocol/trust-operations 4.8). */
export type FreshnessProof = ReadBy<typeof freshnessProofForm>

export type FreshnessReason = 'missing_signature' | 'invalid_signature' | 'expired' | 'sequence_insufficient'

/**
 * protocol/trust-operations 4.8, in this order:
 * 1. signed, 2. by an accepted key: an unsigned sequence proves no freshness;
 * 3. still valid at `at`; 4. not older than required, or a withheld revocation would not be detected.
 */
export async function verifyFreshnessProof(
  proof: Received<FreshnessProof>,
  against: { readonly keys: readonly string[]; readonly at: Instant; readonly requiredSequence: number },
): Promise<Verdict<FreshnessReason>> {
  const signed = await verifyReceivedPlainly(proof, against.keys)
  if (!signed.ok) return signed
  if (instantOf(proof.record.proof_valid_until) < against.at) return invalid('expired')
  return proof.record.feed_sequence < against.requiredSequence ? invalid('sequence_insufficient') : VALID
}
