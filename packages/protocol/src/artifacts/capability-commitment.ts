import { type Instant, writeInstant } from '../canonical/time.ts'
import { isTrue, integer } from '../reading/shape.ts'
import { digest, identifier, timestamp } from '../reading/text.ts'
import { type RecordForm, omit, signedOnceForm, yes } from '../reading/trust-form.ts'
import type { Signature } from '../signing/sign.ts'

/** A promise about a set of capabilities that shows none of them (protocol/trust-operations 7.2). */
export type CapabilityCommitment = {
  readonly commitment_id: string
  readonly merkle_root: string
  /** In the salted form the number of leaves, a power of two. */
  readonly capability_count: number
  readonly agreement_id: string
  readonly committed_at: string
  /** Peers write a key id here: nothing may be concluded from it. */
  readonly issuer_sovereign_id: string
  /** Present in the salted form (protocol/trust-operations 7.6). An older reader refuses the signature then. */
  readonly salted?: true
  readonly signature: Signature | null
}

export const commitmentForm: RecordForm<CapabilityCommitment> = signedOnceForm({
  commitment_id: yes(identifier),
  merkle_root: yes(digest),
  capability_count: yes(integer(1, Number.MAX_SAFE_INTEGER)),
  agreement_id: yes(identifier),
  committed_at: yes(timestamp),
  issuer_sovereign_id: yes(identifier),
  salted: omit(isTrue),
})

export function draftCapabilityCommitment(
  facts: Omit<CapabilityCommitment, 'committed_at' | 'signature'> & { readonly now: Instant },
): CapabilityCommitment {
  const { now, ...named } = facts
  return { ...named, committed_at: writeInstant(now), signature: null }
}
