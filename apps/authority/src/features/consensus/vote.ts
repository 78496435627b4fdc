import { Refusal } from '@chancery/contract'
import { draftValidatorVote, receivedDigest, verifyReceived, voteContextDigest, voteForm } from '@chancery/protocol'
import type { JustificationProof, Received } from '@chancery/protocol'
import type { Answer } from '@chancery/service-kit'
import type { OperatorCall } from '../../auth/operator.ts'
import type { Office } from '../../office.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { issueRecord } from '../../signing/issue.ts'
import { sealOr } from '../../signing/seal.ts'
import { readVoteRequest } from './requests.ts'

/**
 * POST /admin/consensus/vote
 * Signs the vote of this authority on a justification proof it issued itself.
 */
export async function vote(call: OperatorCall, office: Office): Promise<Answer> {
  const { justification, ...said } = readVoteRequest(call.body)
  await requireOwnJustification(office, justification)
  const own = office.genesis.network_name
  const { proof_id, decision_id } = justification.record
  return issueRecord(call, office, async (_tx, now) => {
    const draft = draftValidatorVote({
      ...said,
      vote_id: office.ids.uuid(),
      proof_id,
      decision_id,
      validator_sovereign_id: own,
      context_digest: voteContextDigest(receivedDigest(justification), office.ids.uuid()),
      now,
    })
    const record = await sealOr('vote_failed', office, voteForm, draft, own)
    return { record, type: 'validator_vote_cast', details: { vote_id: record.vote_id, proof_id, decision_id } }
  })
}

/** Nobody may have this authority vote on, or assemble, a justification somebody else invented. */
export async function requireOwnJustification(
  office: Office,
  justification: Received<JustificationProof>,
): Promise<void> {
  const verdict = await verifyReceived(justification, ownKeysAt(office.ownKeys, justification.record.proof_issued_at))
  if (!verdict.ok) throw new Refusal('justification_untrusted')
}
