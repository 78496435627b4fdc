import type { Instant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import type { ReadBy } from '../reading/schema.ts'
import { isTrue, integer } from '../reading/shape.ts'
import { digest, identifier, timestamp } from '../reading/text.ts'
import { omit, signedOnceForm, yes } from '../reading/trust-form.ts'

export const commitmentForm = signedOnceForm({
  commitment_id: yes(identifier),
  merkle_root: yes(digest),
  /** In the salted form the number of leaves, a power of two. */
  capability_count: yes(integer(1, Number.MAX_SAFE_INTEGER)),
  agreement_id: yes(identifier),
  committed_at: yes(timestamp),
  /** Peers write a key id here: nothing may be concluded from it. */
  issuer_sovereign_id: yes(identifier),
  /** Present in the salted form (protocol/trust-operations 7.6). An older reader refuses the signature then. */
  salted: omit(isTrue),
})

/** A promise about a set of capabilities that shows none of them (protocol/trust-operations 7.2). */
export type CapabilityCommitment = ReadBy<typeof commitmentForm>

export function draftCapabilityCommitment(
  facts: Omit<CapabilityCommitment, 'committed_at' | 'signature'> & { readonly now: Instant },
): CapabilityCommitment {
  const { now, ...named } = facts
  return { ...named, committed_at: writeInstant(now), signature: null }
}
