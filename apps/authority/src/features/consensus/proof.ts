import { Refusal } from '@chancery/contract'
import {
  CheckSlices,
  consensusForm,
  countingVotes,
  digestOf,
  draftCascadeAssessment,
  draftConsensusProof,
  reachesThreshold,
  scoreCascade,
  verifyVote,
} from '@chancery/protocol'
import type { CascadeScores, Received, ValidatorVote } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import { type ConsensusParts, acceptedKeysOf, requireOwnJustification } from './trust-justification.ts'
import { issueRecord } from '../../requests/signed-record.ts'
import { type AssemblyRequest, readAssemblyRequest } from './requests.ts'

/**
 * POST /admin/consensus/proof
 * Signs the collected votes when enough distinct validators approve. Votes of validators whose keys are not known here
 * are checked by the verifier.
 */
export async function proof(call: OperatorCall, parts: ConsensusParts): Promise<HttpResponse> {
  const request = readAssemblyRequest(call.body)
  await requireOwnJustification(parts, request.justification)
  requireOneProof(request)
  await requireGoodVotes(parts, request)
  const { counting, scores } = assess(request)
  const { proof_id, decision_id } = request.justification.record
  const consensus_id = parts.ids.uuid()
  const assessed = { assessment_id: parts.ids.uuid(), consensus_id, approve_vote_count: counting }
  return issueRecord(call, parts, {
    form: consensusForm,
    failed: 'proof_assembly_failed',
    event: 'consensus_proof_assembled',
    named: ['consensus_id', 'proof_id', 'decision_id'],
    draft: (now) =>
      draftConsensusProof({
        consensus_id,
        proof_id,
        decision_id,
        required_threshold: request.required_threshold,
        validator_sovereign_ids: request.validator_sovereign_ids,
        votes: request.votes.map(({ record }) => record),
        cascade_assessment_digest: digestOf(draftCascadeAssessment(scores, { ...assessed, now })),
        now,
      }),
  })
}

function requireOneProof({ justification, votes }: AssemblyRequest): void {
  const { proof_id, decision_id } = justification.record
  const isAboutIt = votes.every(({ record }) => record.proof_id === proof_id && record.decision_id === decision_id)
  if (!isAboutIt) throw failed('proof_id_mismatch')
}

/** protocol/trust-operations 8.5, its last check. */
function assess(request: AssemblyRequest): { counting: number; scores: CascadeScores } {
  const votes = request.votes.map(({ record }) => record)
  const counting = countingVotes(votes, new Set(request.validator_sovereign_ids))
  if (!reachesThreshold(counting, request.required_threshold)) throw failed('threshold_not_met')
  const scores = scoreCascade(counting)
  if (scores.isDetected) throw failed('cascade_detected')
  return { counting: counting.length, scores }
}

/**
 * Every vote must be signed, of a named validator, and verify under the key of that validator where one is known. No
 * key counts for two validators, and no validator votes both ways.
 */
async function requireGoodVotes(parts: ConsensusParts, request: AssemblyRequest): Promise<void> {
  const named = new Set(request.validator_sovereign_ids)
  const slices = new CheckSlices()
  const known = new Map<string, readonly string[]>()
  const usedBy = new Map<string, string>()
  const choices = new Map<string, boolean>()
  for (const vote of request.votes) {
    const { validator_sovereign_id: id, signature, vote: choice, voted_at } = vote.record
    if (signature === null) throw failed('invalid_vote_signature')
    if (!named.has(id)) throw failed('vote_not_in_validator_set')
    const keys = known.get(`${id}\n${voted_at}`) ?? (await findVoteKeys(parts, request, id, voted_at))
    known.set(`${id}\n${voted_at}`, keys)
    const key = await findSigningKey(vote, keys, slices)
    if (key === undefined && keys.length > 0) throw failed('invalid_vote_signature')
    if (key !== undefined) {
      if ((usedBy.get(key) ?? id) !== id) throw failed('duplicate_validator_key')
      usedBy.set(key, id)
    }
    if ((choices.get(id) ?? choice) !== choice) throw failed('contradictory_votes')
    choices.set(id, choice)
  }
}

/** Empty when the key of the validator is not known here. Its verifier then checks the vote. */
async function findVoteKeys(
  parts: ConsensusParts,
  request: AssemblyRequest,
  id: string,
  voted_at: string,
): Promise<readonly string[]> {
  const isOwn = id === parts.network.name
  if (request.validatorKeys !== undefined) {
    const key = request.validatorKeys.get(id)
    if (key === undefined) throw failed('unknown_validator_key')
    // A vote in our name that we did not cast must not be signed by us.
    if (isOwn && key !== parts.signing.publicKey) throw failed('invalid_vote_signature')
    return [key]
  }
  if (isOwn) return [parts.signing.publicKey]
  const { recognized, pinned } = await acceptedKeysOf(parts, id, voted_at)
  return [...new Set([...recognized, ...pinned])]
}

async function findSigningKey(
  vote: Received<ValidatorVote>,
  keys: readonly string[],
  slices: CheckSlices,
): Promise<string | undefined> {
  for (const key of keys) if (await verifyVote(vote, key, slices)) return key
  return undefined
}

function failed(reason: string): Refusal {
  return new Refusal('proof_assembly_failed', { reason })
}
