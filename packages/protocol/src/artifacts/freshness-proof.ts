import type { ReadBy } from '../reading/schema.ts'
import { identifier, instantOf, timestamp } from '../reading/text.ts'
import { integer, string } from '../reading/shape.ts'
import { omit, signedOnceForm, yes } from '../reading/trust-form.ts'
import { type Received, asReceived, receivedDigest, verifyReceivedPlainly } from '../signing/received.ts'
import type { Instant } from '../canonical/time.ts'
import { VALID, type Verdict, invalid } from './verdict.ts'

const position = integer(1, Number.MAX_SAFE_INTEGER)

export const storeAnchorForm = signedOnceForm({
  anchor_sequence: yes(position),
  sovereign_id: yes(identifier),
  store_sequence: yes(position),
  entry_digest: yes(string),
  anchored_at: yes(timestamp),
  /** Left out by the first anchor. */
  previous_anchor_digest: omit(string),
  issued_by: yes(identifier),
})

/**
 * The authority's word about the head of its evidence store (protocol/trust-operations 6.12). Copies held elsewhere
 * bind it: a store that was rewritten no longer continues from them.
 */
export type StoreAnchor = ReadBy<typeof storeAnchorForm>

/** The digest by which anchors link: over the signed bytes. */
export function anchorDigest(anchor: StoreAnchor): string {
  return receivedDigest(asReceived(storeAnchorForm, anchor))
}

/** The anchor behind `previous`; the first one names nothing before it. */
export function draftStoreAnchor(
  facts: Pick<StoreAnchor, 'sovereign_id' | 'store_sequence' | 'entry_digest' | 'anchored_at' | 'issued_by'>,
  previous: StoreAnchor | undefined,
): StoreAnchor {
  if (previous === undefined) return { ...facts, anchor_sequence: 1, signature: null }
  return {
    ...facts,
    anchor_sequence: previous.anchor_sequence + 1,
    previous_anchor_digest: anchorDigest(previous),
    signature: null,
  }
}

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
