import { type Instant, seconds, writeInstant } from '../canonical/time.ts'
import { integer, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { type RecordForm, listOf, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'
import type { Signature } from '../signing/sign.ts'
import { type ValidatorVote, voteForm } from './validator-vote.ts'

/** That K of N validators approve a justification (protocol/trust-operations 8.2). */
export type ConsensusProof = {
  readonly consensus_id: string
  readonly proof_id: string
  readonly decision_id: string
  readonly required_threshold: number
  readonly validator_sovereign_ids: readonly string[]
  /** Every submitted vote as it came, its signature included. */
  readonly votes: readonly ValidatorVote[]
  readonly reached_at: string
  readonly expires_at: string
  /** Of the assessment made at assembly; it says nothing to a verifier. */
  readonly cascade_assessment_digest: string | null
  readonly signature: Signature | null
}

export const CONSENSUS_SECONDS = 300

export const consensusForm: RecordForm<ConsensusProof> = signedOnceForm({
  consensus_id: yes(identifier),
  proof_id: yes(identifier),
  decision_id: yes(identifier),
  // Any integer is read: a threshold below one is never met, which is a verdict and not a matter of form.
  required_threshold: yes(integer(Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)),
  validator_sovereign_ids: yes(listOf(identifier), []),
  votes: yes(listOf(voteForm), []),
  reached_at: yes(timestamp),
  expires_at: yes(timestamp),
  cascade_assessment_digest: orNull(string),
})

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
