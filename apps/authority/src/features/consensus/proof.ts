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
import type { ConsensusParts } from './parts.ts'
import { issueRecord } from '../../requests/issue-record.ts'
import { readAssemblyRequest } from './requests.ts'
import type { AssemblyRequest } from './requests.ts'
import { requireOwnJustification } from './vote.ts'

/**
 * POST /admin/consensus/proof
 * Signs the collected votes when enough distinct validators approve. The verifier has the keys of the validators and
 * checks their votes; only own votes are checked here.
 */
export async function proof(call: OperatorCall, parts: ConsensusParts): Promise<HttpResponse> {
  const request = readAssemblyRequest(call.body)
  await requireOwnJustification(parts, request.justification)
  await requireOwnVotes(parts, request.votes)
  const { counting, scores } = assess(request)
  const { proof_id, decision_id } = request.justification.record
  return issueRecord(call, parts, async (_tx, now) => {
    const consensus_id = parts.ids.uuid()
    const assessment = draftCascadeAssessment(scores, {
      assessment_id: parts.ids.uuid(),
      consensus_id,
      approve_vote_count: counting,
      now,
    })
    const draft = draftConsensusProof({
      consensus_id,
      proof_id,
      decision_id,
      required_threshold: request.required_threshold,
      validator_sovereign_ids: request.validator_sovereign_ids,
      votes: request.votes.map(({ record }) => record),
      cascade_assessment_digest: digestOf(assessment),
      now,
    })
    const record = await parts.signing.signFormOr('proof_assembly_failed', consensusForm, draft)
    return { record, type: 'consensus_proof_assembled', details: { consensus_id, proof_id, decision_id } }
  })
}

/** protocol/trust-operations 8.5, its last check. */
function assess(request: AssemblyRequest): { counting: number; scores: CascadeScores } {
  const { proof_id, decision_id } = request.justification.record
  const votes = request.votes.map(({ record }) => record)
  if (!votes.every((vote) => vote.proof_id === proof_id && vote.decision_id === decision_id))
    throw new Refusal('proof_assembly_failed', { reason: 'proof_id_mismatch' })
  const counting = countingVotes(votes, new Set(request.validator_sovereign_ids))
  const signed = counting.filter((vote) => vote.signature !== null)
  if (!reachesThreshold(signed, request.required_threshold))
    throw new Refusal('proof_assembly_failed', { reason: 'threshold_not_met' })
  const scores = scoreCascade(counting)
  if (scores.isDetected) throw new Refusal('proof_assembly_failed', { reason: 'cascade_detected' })
  return { counting: counting.length, scores }
}

/** A vote in our name that we did not cast must not be signed by us. */
async function requireOwnVotes(parts: ConsensusParts, votes: readonly Received<ValidatorVote>[]): Promise<void> {
  const own = votes.filter(({ record }) => record.validator_sovereign_id === parts.network.name)
  const slices = new CheckSlices()
  for (const vote of own)
    if (!(await verifyVote(vote, parts.signing.publicKey, slices)))
      throw new Refusal('proof_assembly_failed', { reason: 'invalid_vote_signature' })
}
