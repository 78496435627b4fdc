import type { ConsensusProof, ValidatorVote } from '@chancery/protocol'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'

export function describeVote(vote: ValidatorVote, style: Style): string {
  return fields(
    [
      ['vote', vote.vote_id],
      ['says', vote.vote ? 'approve' : 'reject'],
      ['validator', vote.validator_sovereign_id],
      ['proof', vote.proof_id],
      ['decision', vote.decision_id],
      ['reason', vote.reason ?? '-'],
      ['cast', vote.voted_at],
    ],
    style,
  )
}

export function describeConsensus(proof: ConsensusProof, style: Style): string {
  const approving = new Set(proof.votes.filter(({ vote }) => vote).map((vote) => vote.validator_sovereign_id))
  return fields(
    [
      ['consensus', proof.consensus_id],
      ['proof', proof.proof_id],
      ['decision', proof.decision_id],
      ['approving', [...approving].join(', ') || '-'],
      ['needed', `${proof.required_threshold} of ${new Set(proof.validator_sovereign_ids).size}`],
      ['until', proof.expires_at],
    ],
    style,
  )
}
