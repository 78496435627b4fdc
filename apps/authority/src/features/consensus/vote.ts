import { Refusal } from '@chancery/contract'
import { draftValidatorVote, receivedDigest, verifyReceived, voteContextDigest, voteForm } from '@chancery/protocol'
import type { JustificationProof, Received } from '@chancery/protocol'
import type { HttpResponse } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { ConsensusParts } from './parts.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { issueRecord } from '../../requests/issue-record.ts'
import { readVoteRequest } from './requests.ts'

/**
 * POST /admin/consensus/vote
 * Signs the vote of this authority on its own justification proof.
 */
export async function vote(call: OperatorCall, parts: ConsensusParts): Promise<HttpResponse> {
  const { justification, ...said } = readVoteRequest(call.body)
  await requireOwnJustification(parts, justification)
  const own = parts.network.name
  const { proof_id, decision_id } = justification.record
  return issueRecord(call, parts, async (_tx, now) => {
    const draft = draftValidatorVote({
      ...said,
      vote_id: parts.ids.uuid(),
      proof_id,
      decision_id,
      validator_sovereign_id: own,
      context_digest: voteContextDigest(receivedDigest(justification), parts.ids.uuid()),
      now,
    })
    const record = await parts.signing.signFormOr('vote_failed', voteForm, draft, own)
    return { record, type: 'validator_vote_cast', details: { vote_id: record.vote_id, proof_id, decision_id } }
  })
}

/** The authority must not vote on, or assemble, a justification that another party made. */
export async function requireOwnJustification(
  parts: ConsensusParts,
  justification: Received<JustificationProof>,
): Promise<void> {
  const verdict = await verifyReceived(justification, ownKeysAt(parts.keys, justification.record.proof_issued_at))
  if (!verdict.ok) throw new Refusal('justification_untrusted')
}
