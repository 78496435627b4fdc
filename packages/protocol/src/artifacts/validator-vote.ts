import { type Instant, writeInstant } from '../canonical/time.ts'
import { sha256Hex } from '../canonical/digest.ts'
import type { ReadBy } from '../reading/read.ts'
import { boolean, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { orNull, signedOnceForm, yes } from '../reading/trust-form.ts'

export const voteForm = signedOnceForm({
  vote_id: yes(identifier),
  proof_id: yes(identifier),
  decision_id: yes(identifier),
  validator_sovereign_id: yes(identifier),
  vote: yes(boolean),
  reason: orNull(string),
  voted_at: yes(timestamp),
  /** Names the state that the validator used; equal ones are a sign of copying. */
  context_digest: orNull(string),
})

/** What one validator says about a justification proof (protocol/trust-operations 8.1). */
export type ValidatorVote = ReadBy<typeof voteForm>

export function draftValidatorVote(facts: {
  readonly vote_id: string
  readonly proof_id: string
  readonly decision_id: string
  readonly validator_sovereign_id: string
  readonly vote: boolean
  readonly reason: string | null
  readonly context_digest: string
  readonly now: Instant
}): ValidatorVote {
  const { now, ...named } = facts
  return { ...named, voted_at: writeInstant(now), signature: null }
}

/** The context_digest of this product: over the checked proof and a secret random value. */
export function voteContextDigest(justificationDigest: string, fresh: string): string {
  return sha256Hex(`${justificationDigest}:${fresh}`)
}
