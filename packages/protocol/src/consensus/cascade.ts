import { JsonFloat, type JsonObject } from '../canonical/json-value.ts'
import { type Instant, writeInstant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'

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
export function namesContext({ context_digest }: CascadeVote): boolean {
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
