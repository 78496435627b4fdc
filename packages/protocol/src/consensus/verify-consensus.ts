import { type ConsensusProof, consensusForm } from '../artifacts/consensus-proof.ts'
import { type ValidatorVote, voteForm } from '../artifacts/validator-vote.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import type { JsonValue } from '../canonical/json-value.ts'
import type { Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { readPublicKey } from '../signing/keys.ts'
import { checkReceivedForm, readReceived, receivedBytes, verifyReceivedPlainly } from '../signing/received.ts'
import type { Received } from '../signing/received.ts'
import { CheckSlices } from '../signing/verify-any.ts'
import { verifySignature } from '../signing/verify.ts'
import { namesContext, scoreCascade } from './cascade.ts'

export function readValidatorVote(value: JsonValue): Received<ValidatorVote> {
  return readReceived(voteForm, value)
}

export function readConsensusProof(value: JsonValue): Received<ConsensusProof> {
  return readReceived(consensusForm, value)
}

export type ConsensusReason =
  | 'missing_signature'
  | 'invalid_assembler_signature'
  | 'proof_id_mismatch'
  | 'invalid_vote_signature'
  | 'unknown_validator_key'
  | 'vote_not_in_validator_set'
  | 'threshold_not_met'
  | 'missing_context_digest'
  | 'cascade_detected'
  | 'expired'

export interface ConsensusTrust {
  readonly assemblerKeys: readonly string[]
  /** One key per validator; a text that is no key counts as none. */
  readonly validatorKeys: ReadonlyMap<string, string>
  /** The justification the proof is presented for, where the verifier has it. */
  readonly justification?: { readonly proof_id: string }
  readonly now: Instant
}

/**
 * Whether enough independent validators approved (protocol/trust-operations 8.6).
 * 1., 2. An assembler we trust signed exactly this proof: else votes could be removed or combined again.
 * 3. Every vote is about this proof and decision: an approval of something else must not count here.
 * 4., 5., 6. Every vote, approving or not, is signed under the one key known for its validator; the first faulty vote
 *    decides.
 * 7. Every vote is of a named validator: a proof with other votes contradicts itself.
 * 8. Distinct validators reach the threshold, which is at least one: repeating a vote adds nothing, and a validator that
 *    also rejects does not approve.
 * 9., 10. The votes name the state they were made from and do not look like copies of one another.
 * 11. Its five minutes are not over.
 */
export async function verifyConsensusProof(
  proof: Received<ConsensusProof>,
  trust: ConsensusTrust,
): Promise<Verdict<ConsensusReason>> {
  const signed = await verifyReceivedPlainly(proof, trust.assemblerKeys)
  if (!signed.ok)
    return invalid(signed.reason === 'missing_signature' ? 'missing_signature' : 'invalid_assembler_signature')
  const { record } = proof
  if (!isAboutOneProof(record, trust)) return invalid('proof_id_mismatch')
  const named = new Set(record.validator_sovereign_ids)
  const votes = await verifyVotes(proof, trust.validatorKeys)
  if (!votes.ok) return votes
  if (!record.votes.every((vote) => named.has(vote.validator_sovereign_id))) return invalid('vote_not_in_validator_set')
  const counting = countingVotes(record.votes, named)
  if (!reachesThreshold(counting, record.required_threshold)) return invalid('threshold_not_met')
  if (!counting.every(namesContext)) return invalid('missing_context_digest')
  if (scoreCascade(counting).isDetected) return invalid('cascade_detected')
  return instantOf(record.expires_at) <= trust.now ? invalid('expired') : VALID
}

/** Votes that approve, of validators that are named and do not also reject. */
export function countingVotes(votes: readonly ValidatorVote[], named: ReadonlySet<string>): readonly ValidatorVote[] {
  const rejecting = new Set(votes.filter(({ vote }) => !vote).map((vote) => vote.validator_sovereign_id))
  return votes.filter(({ vote, validator_sovereign_id: id }) => vote && named.has(id) && !rejecting.has(id))
}

export function reachesThreshold(counting: readonly ValidatorVote[], threshold: number): boolean {
  return threshold >= 1 && new Set(counting.map((vote) => vote.validator_sovereign_id)).size >= threshold
}

/** Whether this key signed this vote, form included. `slices` is for many votes in a row. */
export async function verifyVote(vote: Received<ValidatorVote>, key: string, slices?: CheckSlices): Promise<boolean> {
  const { signature } = vote.record
  if (signature === null || !checkReceivedForm(vote).ok) return false
  const waiting = slices?.next()
  if (waiting !== undefined) await waiting
  return verifySignature(key, receivedBytes(vote), signature.sig)
}

function isAboutOneProof({ proof_id, decision_id, votes }: ConsensusProof, { justification }: ConsensusTrust): boolean {
  if (justification !== undefined && justification.proof_id !== proof_id) return false
  return votes.every((vote) => vote.proof_id === proof_id && vote.decision_id === decision_id)
}

async function verifyVotes(
  { record, wire }: Received<ConsensusProof>,
  keys: ReadonlyMap<string, string>,
): Promise<Verdict<'invalid_vote_signature' | 'unknown_validator_key'>> {
  const slices = new CheckSlices()
  // Read before with the proof they stand in; its wire holds them as they were signed.
  const wires = (wire['votes'] ?? []) as readonly JsonValue[]
  for (const [index, vote] of record.votes.entries()) {
    const key = keys.get(vote.validator_sovereign_id) ?? ''
    if (vote.signature === null) return invalid('invalid_vote_signature')
    if (readPublicKey(key) === undefined) return invalid('unknown_validator_key')
    const signed = readValidatorVote(wires[index] ?? null)
    if (!(await verifyVote(signed, key, slices))) return invalid('invalid_vote_signature')
  }
  return VALID
}
