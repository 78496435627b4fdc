import { consensus } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { type ConsensusParts, trustJustification } from './trust-justification.ts'
import { proof } from './proof.ts'
import { verify } from './verify.ts'
import { draftValidatorVote, receivedDigest, voteContextDigest, voteForm } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import { type OperatorCall, requireTier } from '../../auth/operator.ts'
import { issueRecord } from '../../requests/issue-record.ts'
import { readVoteRequest } from './requests.ts'

/**
 * POST /admin/consensus/vote
 * Signs the vote of this authority on a justification proof: its own, or one of another authority whose keys it knows. A
 * privileged operator may supply the keys of the issuer.
 */
async function vote(call: OperatorCall, parts: ConsensusParts): Promise<HttpResponse> {
  const request = readVoteRequest(call.body)
  const { justification, vote: choice, reason } = request
  if (request.suppliedKeys.length > 0) await requireTier(call, parts, call.operator, 'privileged')
  const trust = await trustJustification(parts, request)
  const own = parts.network.name
  const { proof_id, decision_id } = justification.record
  return issueRecord(call, parts, async (_tx, now) => {
    const draft = draftValidatorVote({
      vote: choice,
      reason,
      vote_id: parts.ids.uuid(),
      proof_id,
      decision_id,
      validator_sovereign_id: own,
      context_digest: voteContextDigest(receivedDigest(justification), parts.ids.uuid()),
      now,
    })
    const record = await parts.signing.signFormOr('vote_failed', voteForm, draft, own)
    return {
      record,
      type: 'validator_vote_cast',
      details: { vote_id: record.vote_id, proof_id, decision_id, ...trust },
    }
  })
}

export function openConsensus(parts: ConsensusParts): Feature {
  return {
    routes: [
      bind(consensus.vote, (call) => vote(call, parts)),
      bind(consensus.proof, (call) => proof(call, parts)),
      bind(consensus.verify, (call) => verify(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
