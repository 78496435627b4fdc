/** Nodes, trust, decisions, governed actions and verification. docs/client-library.md names the other entries. */
export { joinNetwork } from './node/join-network.ts'
export type { NetworkNode } from './node/join-network.ts'
export { createDecider } from './node/decider.ts'
export type { AskBasis, AskOptions, Decider, DeciderOptions } from './node/decider.ts'
export { DeniedError, NoDecisionError, explainDenial, requireAllowed } from './node/answer.ts'
export type { AllowedAnswer, Answer, Denial, DeniedAnswer, Held } from './node/answer.ts'
export type { HeldOptions, WaitOptions } from './node/held.ts'
export { TokenRefusedError } from './tokens/access-token.ts'
export type { AccessToken, TokenDecision, TokenRequest } from './tokens/access-token.ts'
export { createDpopKey } from './tokens/dpop.ts'
export type { DpopKey, DpopRequest } from './tokens/dpop.ts'
export type { TokenFetchOptions } from './tokens/fetch-with-token.ts'
export type { JoinOptions, RunOptions } from './node/options.ts'
export type { FailedAction, NodeAction, NodeEnd, NodeEvent, RefusedList } from './node/events.ts'
export type { PlatformAudience, PlatformEvidence, PlatformSource } from './node/evidence.ts'
export { JoinInterruptedError } from './node/enroll.ts'
export { MemoryNodeStore } from './node/followed.ts'
export type { NodeDocument, NodeStore } from './node/followed.ts'
export { createSigner } from './signer.ts'
export type { ConnectionOptions as Connection } from './http/call.ts'
export type { RetryOptions } from './http/retry.ts'
export { createSigningFetch } from './request-proof/sign.ts'
export type { FetchIdentity, FetchOptions, SigningFetch } from './request-proof/sign.ts'
export type { ProofProfile } from './request-proof/profile.ts'
export type { ResponseTrust } from './request-proof/response.ts'
export type { Caller, ReceivedProof } from './request-proof/caller.ts'
export { createAuthorizer } from './request-proof/authorizer.ts'
export type {
  Authentication,
  Authorization,
  Authorizer,
  AuthorizerOptions,
  Requirement,
} from './request-proof/authorizer.ts'
export type { ProofReason, Refusal } from './request-proof/refusal.ts'
export { MemoryNonceStore } from './request-proof/nonces.ts'
export type { NonceStore } from './request-proof/nonces.ts'
export { trustNetworks } from './trust/trust-networks.ts'
export type { NetworkState, NetworksTrust, TrustOptions, TrustedNetwork } from './trust/trust-networks.ts'
export type { CertificateTrust, CertificateVerdict, TrustReason } from './trust/certificate-verdict.ts'
export type { NetworkIdentity } from './trust/identity.ts'
export type { Time } from './trust/signing-time.ts'
export { createGovernor } from './governed/governor.ts'
export type {
  ActionContext,
  ActionOptions,
  ExpectedPolicies,
  GovernedFunction,
  GovernedResult,
  Governor,
  GovernorOptions,
} from './governed/governor.ts'
export { EvidenceNotStoredError } from './governed/errors.ts'
export { MemoryOutbox } from './governed/outbox.ts'
export type { Outbox, OutboxContent, OutboxEntry } from './governed/outbox.ts'
export {
  verifyAgent,
  verifyAttestation,
  verifyCertificate,
  verifyDecision,
  verifyExecution,
  verifyGenesis,
  verifyRecord,
  verifyTreaty,
} from './verify/records.ts'
export type { AnyVerdict, RecordKind, RecordTrust, RecordTypes } from './verify/records.ts'
export { requireValid } from './verify/verdict.ts'
export type {
  AllowedDecision,
  Decision,
  DecisionVerdict,
  DenialReason,
  DeniedDecision,
  InvalidReason,
  Verdict,
} from './verify/verdict.ts'
export {
  ChanceryError,
  RefusedError,
  ResponseError,
  RevokedError,
  UnreachableError,
  UsageError,
  VerificationError,
  isRefused,
} from './errors.ts'
export type { AuthorityCode, ErrorKind, GatewayCode, RefusalCode, RefusalDetails } from './errors.ts'
export { VERSION } from './version.ts'
export { JsonFloat, readJson, writeJson } from '@chancery/protocol'
export type {
  AgentDescriptor,
  Attestation,
  AuthorityKeys,
  CheckedPart,
  ContextRecord as DecisionContext,
  Crl as RevocationList,
  CrlEntry,
  ExecutionEvidence as Execution,
  GateResult,
  GenesisBlock,
  Instant,
  JoinCertificate as Certificate,
  JsonObject,
  JsonValue,
  JustificationProof as Justification,
  KeyHistory,
  ProofHeaders,
  RecognitionTreaty as Treaty,
  Signature,
  Signer,
  StoreAnchor as Anchor,
  TrustDecision,
  Unproven,
} from '@chancery/protocol'
