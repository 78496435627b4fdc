import type { CapabilityCommitment, CapabilityMembershipProof } from '@chancery/protocol'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'

export function describeCommitment(commitment: CapabilityCommitment, style: Style): string {
  return fields(
    [
      ['commitment', commitment.commitment_id],
      ['issuer', commitment.issuer_sovereign_id],
      ['agreement', commitment.agreement_id],
      [
        'capabilities',
        commitment.salted === true
          ? `at most ${commitment.capability_count}, none of them shown`
          : `${commitment.capability_count}, hidden names can be guessed`,
      ],
      ['root', commitment.merkle_root],
      ['committed', commitment.committed_at],
    ],
    style,
  )
}

export function describeProof(proof: CapabilityMembershipProof, style: Style): string {
  return fields(
    [
      ['proof', proof.proof_id],
      ['shows', proof.revealed_capability],
      ['commitment', proof.commitment_id],
      ['prover', proof.prover_sovereign_id],
      ['made', proof.proved_at],
    ],
    style,
  )
}
