import type { AgentDescriptor } from '../artifacts/agent-descriptor.ts'
import type { AgreementRecord, CapabilityCounter, CapabilityOffer } from '../artifacts/capability-offer.ts'
import type { Attestation, RecognitionPolicy } from '../artifacts/attestation.ts'
import type { BoundaryDecision } from '../artifacts/boundary-decision.ts'
import type { BoundaryPolicy } from '../artifacts/boundary-policy.ts'
import type { CapabilityCommitment } from '../artifacts/capability-commitment.ts'
import type { CapabilityMembershipProof, CapabilityNullifier } from '../artifacts/capability-nullifier.ts'
import type { ConsensusProof, ValidatorVote } from '../artifacts/consensus-proof.ts'
import type { Crl } from '../artifacts/crl.ts'
import type { DataAccessIntent, DataLicensePolicy } from '../artifacts/data-access-intent.ts'
import type { ExecutionEvidence } from '../artifacts/execution-evidence.ts'
import type { FreshnessProof, StoreAnchor } from '../artifacts/freshness-proof.ts'
import type { GenesisBlock } from '../artifacts/genesis-block.ts'
import type { JoinCertificate } from '../artifacts/join-certificate.ts'
import type { JustificationProof } from '../artifacts/justification-proof.ts'
import type { PolicyManifest } from '../artifacts/policy-manifest.ts'
import type { RecognitionTreaty } from '../artifacts/recognition-treaty.ts'
import type { RetentionCheckpoint } from '../artifacts/retention-checkpoint.ts'
import type { RevocationFeed } from '../artifacts/revocation-feed.ts'
import type { TrustEvidence } from '../artifacts/trust-evidence.ts'
import type { RecordKindName } from './record-kind.ts'

/** The type of the record of each kind. */
export interface RecordsByKind {
  readonly 'genesis-block': GenesisBlock
  readonly 'join-certificate': JoinCertificate
  readonly crl: Crl
  readonly 'policy-manifest': PolicyManifest
  readonly 'agent-descriptor': AgentDescriptor
  readonly 'membership-attestation': Attestation
  readonly 'recognition-treaty': RecognitionTreaty
  readonly 'recognition-policy': RecognitionPolicy
  readonly 'sovereign-revocation-feed': RevocationFeed
  readonly 'trust-evidence': TrustEvidence
  readonly 'capability-offer': CapabilityOffer
  readonly 'capability-counter': CapabilityCounter
  readonly 'agreement-record': AgreementRecord
  readonly 'boundary-decision': BoundaryDecision
  readonly 'boundary-policy': BoundaryPolicy
  readonly 'freshness-proof': FreshnessProof
  readonly 'justification-proof': JustificationProof
  readonly 'execution-evidence': ExecutionEvidence
  readonly 'retention-checkpoint': RetentionCheckpoint
  readonly 'store-anchor': StoreAnchor
  readonly 'capability-commitment': CapabilityCommitment
  readonly 'capability-membership-proof': CapabilityMembershipProof
  readonly 'capability-nullifier': CapabilityNullifier
  readonly 'validator-vote': ValidatorVote
  readonly 'consensus-proof': ConsensusProof
  readonly 'data-license-policy': DataLicensePolicy
  readonly 'data-access-intent': DataAccessIntent
}

/**
 * What was checked. signature: of a trusted key, over exactly this record. network: it is of the network that the
 * caller named. time: it is valid at the time of the verdict. revocation: it is not on a current list. root_key and
 * node_key: its own key is one that the caller gave. commitment, validators: the records that it counts on. basis: the
 * records that a decision names.
 */
export type CheckedPart =
  | 'signature'
  | 'network'
  | 'time'
  | 'revocation'
  | 'root_key'
  | 'node_key'
  | 'commitment'
  | 'validators'
  | 'basis'

/**
 * What a valid record does not prove. root_key: the block signs for its own root key, and no other was given.
 * node_key: the same for the key of a node. node_membership: only a certificate, and the list that may revoke it, say
 * that a node is a member. authorship: such a record has no signature. network: keys were given, so the name that the
 * record bears was compared with nothing. revocation: the record may have been revoked. newest: a later one may replace
 * it. basis: the records that it names were not verified. first_use: whether it was used before. time: whether it is
 * valid now. hidden_names: the commitment is unsalted, so the names that it hides can be guessed.
 */
export type Unproven =
  | 'root_key'
  | 'node_key'
  | 'node_membership'
  | 'authorship'
  | 'network'
  | 'revocation'
  | 'newest'
  | 'basis'
  | 'first_use'
  | 'time'
  | 'hidden_names'

/** A record that is genuine and in its time. What it says is in `record`: a decision may deny. */
export interface ProvedRecord<Kind extends RecordKindName = RecordKindName> {
  readonly ok: true
  readonly kind: Kind
  readonly record: RecordsByKind[Kind]
  readonly checked: readonly CheckedPart[]
  readonly unproven: readonly Unproven[]
}

export interface RefusedRecord {
  readonly ok: false
  readonly reason: string
  /** Member and rule of a malformed record, or the missing input. */
  readonly problem?: string
}

export type OfflineVerdict<Kind extends RecordKindName = RecordKindName> = ProvedRecord<Kind> | RefusedRecord
