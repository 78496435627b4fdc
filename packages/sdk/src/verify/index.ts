/**
 * Verification without a network: import it as `@chancery/sdk/verify`. It runs in browsers, uses no module of Node.js
 * and does not load the rest of the library.
 */
export {
  verifyAgent,
  verifyAgreement,
  verifyAnchor,
  verifyAttestation,
  verifyBoundaryPolicy,
  verifyCertificate,
  verifyCommitment,
  verifyConsensus,
  verifyCounter,
  verifyCrl,
  verifyDataIntent,
  verifyDataLicense,
  verifyDecision,
  verifyExecution,
  verifyFreshness,
  verifyGenesis,
  verifyJustification,
  verifyMembershipProof,
  verifyNullifier,
  verifyOffer,
  verifyPolicyManifest,
  verifyRecognitionPolicy,
  verifyRecord,
  verifyRetentionCheckpoint,
  verifyRevocationFeed,
  verifyTreaty,
  verifyTrustEvidence,
  verifyVote,
} from './records.ts'
export type { AnyVerdict, RecordKind, RecordTrust, RecordTypes, VerifyDecision, VerifyRecord } from './records.ts'
export { requireValid } from './verdict.ts'
export type {
  AllowedDecision,
  Decision,
  DecisionVerdict,
  DenialReason,
  DeniedDecision,
  InvalidReason,
  Verdict,
} from './verdict.ts'
export { verifyDecisionChain } from './decision-chain.ts'
export type { DecisionChain, DecisionChainVerdict } from './decision-chain.ts'
// Only this reader preserves the form of numbers: JSON.parse makes 90 of 90.0, and then the signature is invalid.
export { JsonFloat, readJson, writeJson } from '@chancery/protocol'
export { RelyingParty } from './relying-party.ts'
export type { InstallRefusal, InstallVerdict, IssuerPins, Listed, NetworkPins, OfferedList } from './relying-party.ts'
export type { CertificateTrust, CertificateVerdict, TrustReason } from '../trust/certificate-verdict.ts'
export type { Time } from '../trust/signing-time.ts'
export { MemoryNonceStore } from '../request-proof/nonces.ts'
export type { NonceStore } from '../request-proof/nonces.ts'
export { verifyRequest } from '../request-proof/verify.ts'
export type { Caller, ReceivedProof } from '../request-proof/caller.ts'
export type { IncomingRequest, ProofPolicy, ProofRefusal, ProofVerdict } from '../request-proof/verify.ts'
export type * from '../record-types.ts'
