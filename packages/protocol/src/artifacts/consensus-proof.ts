import { type Instant, seconds } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import type { ReadBy } from '../reading/schema.ts'
import { boolean, integer, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { listOf, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'
import { sha256Hex } from '../canonical/digest.ts'

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

const CONSENSUS_SECONDS = 300

export const consensusForm = signedOnceForm({
  consensus_id: yes(identifier),
  proof_id: yes(identifier),
  decision_id: yes(identifier),
  // Any integer is read: a threshold below one is never met, which is a verdict and not a matter of form.
  required_threshold: yes(integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)),
  validator_sovereign_ids: yes(listOf(identifier), []),
  /** Every submitted vote as it came, its signature included. */
  votes: yes(listOf(voteForm), []),
  reached_at: yes(timestamp),
  expires_at: yes(timestamp),
  /** Of the assessment made at assembly; it says nothing to a verifier. */
  cascade_assessment_digest: orNull(string),
})

/** That K of N validators approve a justification (protocol/trust-operations 8.2). */
export type ConsensusProof = ReadBy<typeof consensusForm>

export function draftConsensusProof(facts: {
  readonly consensus_id: string
  readonly proof_id: string
  readonly decision_id: string
  readonly required_threshold: number
  readonly validator_sovereign_ids: readonly string[]
  readonly votes: readonly ValidatorVote[]
  readonly cascade_assessment_digest: string
  readonly now: Instant
}): ConsensusProof {
  const { now, ...named } = facts
  const expires_at = writeInstant(now + seconds(CONSENSUS_SECONDS))
  return { ...named, reached_at: writeInstant(now), expires_at, signature: null }
}
