import { boundaryDecisionForm, consensusForm, justificationForm, readReceived, voteForm } from '@chancery/protocol'
import type { BoundaryDecision, ConsensusProof, JustificationProof, Received, ValidatorVote } from '@chancery/protocol'
import type { RecordKind } from '../../files/json-file.ts'

export const JUSTIFICATION: RecordKind<Received<JustificationProof>> = {
  name: 'a justification proof',
  member: 'justification_proof',
  read: (value) => readReceived(justificationForm, value),
}

export const DECISION: RecordKind<Received<BoundaryDecision>> = {
  name: 'a boundary decision',
  member: 'decision',
  read: (value) => readReceived(boundaryDecisionForm, value),
}

export const VOTE: RecordKind<Received<ValidatorVote>> = {
  name: 'a validator vote',
  // A vote has a member of this name itself, which is never an object.
  member: 'vote',
  read: (value) => readReceived(voteForm, value),
}

export const CONSENSUS: RecordKind<Received<ConsensusProof>> = {
  name: 'a consensus proof',
  member: 'proof',
  read: (value) => readReceived(consensusForm, value),
}
