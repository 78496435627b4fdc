import { agreementRecordForm, commitmentForm, membershipProofForm, readReceived } from '@chancery/protocol'
import type { AgreementRecord, CapabilityCommitment, CapabilityMembershipProof, Received } from '@chancery/protocol'
import type { RecordKind } from '../../files/json-file.ts'

/** Where the seed of a commitment is stored by default. */
export function seedFileOf(commitmentFile: string): string {
  return `${commitmentFile}.seed`
}

export const AGREEMENT: RecordKind<Received<AgreementRecord>> = {
  name: 'an agreement record',
  member: 'agreement',
  read: (value) => readReceived(agreementRecordForm, value),
}

export const COMMITMENT: RecordKind<Received<CapabilityCommitment>> = {
  name: 'a capability commitment',
  member: 'commitment',
  read: (value) => readReceived(commitmentForm, value),
}

export const PROOF: RecordKind<Received<CapabilityMembershipProof>> = {
  name: 'the proof of a capability',
  member: 'proof',
  read: (value) => readReceived(membershipProofForm, value),
}
