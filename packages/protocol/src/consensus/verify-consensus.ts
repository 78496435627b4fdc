import { type ConsensusProof, type ValidatorVote, consensusForm, voteForm } from '../artifacts/consensus-proof.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import { JsonFloat, type JsonObject, type JsonValue } from '../canonical/utf8.ts'
import type { Instant } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { instantOf } from '../reading/text.ts'
import { readPublicKey, verifySignature } from '../signing/keys.ts'
import { checkReceivedForm, readReceived, receivedBytes, verifyReceivedPlainly } from '../signing/received.ts'
import type { Received } from '../signing/received.ts'
import { CheckSlices } from '../signing/verify-any.ts'

/** What a vote contributes: its time, and the state that the validator used. */
export interface CascadeVote {
  readonly voted_at: string
  readonly context_digest: string | null
}

/** How much approving votes look like copies of one another (protocol/trust-operations 8.3). */
export interface CascadeScores {
  /** Returns 0 when every vote names a different state, 1 when all name the same one or none does. */
  readonly contextDivergence: number
  /** 1 when all were cast at one instant, 0 when they lie far apart. */
  readonly temporalClustering: number
  readonly score: number
  readonly isDetected: boolean
  /** The most frequent digest, of several the one met first; empty when there is none. */
  readonly modalDigest: string
  readonly uniqueDigests: number
}

const CASCADE_THRESHOLD = 0.4
const CLUSTER_SECONDS = 30

/** `votes` are the approving votes of named validators; the others take no part. */
export function scoreCascade(votes: readonly CascadeVote[]): CascadeScores {
  const counts = countDigests(votes)
  let [modalDigest, most] = ['', 0]
  for (const [digest, count] of counts) if (count > most) [modalDigest, most] = [digest, count]
  const contextDivergence = divergenceOf(votes.length, most)
  const temporalClustering = clusteringOf(votes)
  const score = 0.7 * contextDivergence + 0.3 * temporalClustering
  const isDetected = score > CASCADE_THRESHOLD
  return { contextDivergence, temporalClustering, score, isDetected, modalDigest, uniqueDigests: counts.size }
}

/** The record whose digest an assembled proof names; it is never sent. Scores are doubles even when whole. */
export function draftCascadeAssessment(
  scores: CascadeScores,
  facts: {
    readonly assessment_id: string
    readonly consensus_id: string
    readonly approve_vote_count: number
    readonly now: Instant
  },
): JsonObject {
  const { now, ...named } = facts
  return {
    ...named,
    cascade_score: new JsonFloat(scores.score),
    context_divergence_score: new JsonFloat(scores.contextDivergence),
    temporal_clustering_score: new JsonFloat(scores.temporalClustering),
    modal_context_digest: scores.modalDigest,
    unique_context_count: scores.uniqueDigests,
    assessed_at: writeInstant(now),
    blocked: scores.isDetected,
    threshold_used: new JsonFloat(CASCADE_THRESHOLD),
  }
}

/** An empty text says nothing about a state: it counts as none. */
function namesContext({ context_digest }: CascadeVote): boolean {
  return context_digest !== null && context_digest !== ''
}

function countDigests(votes: readonly CascadeVote[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const vote of votes) {
    const digest = vote.context_digest ?? ''
    if (namesContext(vote)) counts.set(digest, (counts.get(digest) ?? 0) + 1)
  }
  return counts
}

function divergenceOf(votes: number, most: number): number {
  if (votes === 0) return 0
  // No vote names its state: they count as copies.
  if (most === 0) return 1
  return votes === 1 ? 0 : (most - 1) / (votes - 1)
}

function clusteringOf(votes: readonly CascadeVote[]): number {
  if (votes.length < 2) return 0
  return Math.min(1, Math.max(0, 1 - deviationSeconds(votes) / CLUSTER_SECONDS))
}

/**
 * Sample standard deviation. Sums are exact, so neither the order of the votes nor the year they were cast in moves
 * the last digit: a score at the limit must not depend on either.
 */
function deviationSeconds(votes: readonly CascadeVote[]): number {
  const times = votes.map((vote) => instantOf(vote.voted_at))
  const count = BigInt(times.length)
  const sum = times.reduce((total, time) => total + time, 0n)
  const squares = times.reduce((total, time) => total + time * time, 0n)
  const spread = count * squares - sum * sum
  return Math.sqrt(Number(spread) / Number(count * (count - 1n))) / 1_000_000
}

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
