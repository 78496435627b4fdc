// oxlint-disable max-lines -- one list of everything that the package exports
export { createClient } from './client.ts'
export type { Client, ClientOptions } from './client.ts'
export type { Call, CallOptions, Caller, Connection, ConnectionOptions, WriteOptions } from './http/call.ts'
export { createGatewayClient } from './gateway/client.ts'
export type { GatewayClient, GatewayDescription, GatewayNetworks, GatewayOptions } from './gateway/client.ts'
export type { ForwardedCall, OperationId } from './gateway/open-operation.ts'
export type { Audience, NodeIdentity, NodeKey, Operator } from './http/node-signing.ts'
export { asAuthority } from './gateway/as-authority.ts'
export type { AuthorityOptions, GatewayAccess, TokenSource } from './gateway/as-authority.ts'
export type { RecordOrText } from './http/read-response.ts'
export {
  BadRequestError,
  ChanceryError,
  ConflictError,
  ForbiddenError,
  NotFoundError,
  RateLimitError,
  RefusedError,
  RequestError,
  ResponseError,
  RevokedError,
  ServiceUnavailableError,
  UnauthorizedError,
  UnreachableError,
  ValidationError,
} from './errors.ts'
export type { RefusedCode, RefusedFacts } from './errors.ts'
export { Node } from './node/node.ts'
export { EvidenceError, freshEvidence } from './node/evidence.ts'
export type { EvidenceAudience, EvidenceSource, NodeEvidence } from './node/evidence.ts'
export type { FetchAsOptions, NodeOptions } from './node/node.ts'
export { requireNodeDecision } from './node/ask.ts'
export type { AskOptions, AskedDecision } from './node/ask.ts'
export { CertificateError, isFinalRefusal } from './node/certificate.ts'
export { JoinInterruptedError } from './node/enroll.ts'
export type { NodeAction, NodeEvents, RefusedList } from './node/events.ts'
export { FollowedKeys, MemoryNodeStore } from './node/followed.ts'
export type { Followed, KeyStore, NodeDocument, NodeStore } from './node/followed.ts'
export { JustificationUntrustedError, castVote } from './trust/cast-vote.ts'
export type { CastVoteOptions, UntrustedJustificationReason, VoteChoice } from './trust/cast-vote.ts'
export { FollowedParty } from './trust/followed-party.ts'
export type { FollowedPartyOptions, ListOutcome, Refreshed } from './trust/followed-party.ts'
export { RefreshingRelyingParty } from './trust/refreshing-relying-party.ts'
export type { RefreshState, RefreshingRelyingPartyOptions } from './trust/refreshing-relying-party.ts'
export * as schedule from './node/schedule.ts'
export { withExistingNames } from './compat/names.ts'
export type { ExistingNames } from './compat/names.ts'
export type { EvidenceStoreNames, ResourceState } from './compat/sub-clients.ts'
export { RETRY_DEFAULTS, canFailOver, canRetry, isContention } from './http/retry.ts'
export type { RetryDelay, RetryOptions } from './http/retry.ts'
export type { Fetch } from './http/transport.ts'
export type { AgentFacts, AgentRegistration, AgentsApi } from './api/agents.ts'
export type { AttestationsApi } from './api/attestations.ts'
export type { AgreementsApi } from './api/agreements.ts'
export type { BoundaryApi } from './api/boundary.ts'
export type { TrustEvidenceApi } from './api/trust-evidence.ts'
export type { BoundaryPoliciesApi } from './api/boundary-policies.ts'
export type { ConnectomeApi } from './api/connectome.ts'
export type { BlastRadius, ForeignDecisionFault, NodeAction as SignedNodeAction } from '@chancery/protocol'
export type { ConsensusApi } from './api/consensus.ts'
export type { CrlApi, RevocationRequest, RevocationResult, RevokedCertificates } from './api/crl.ts'
export type { DashboardApi } from './api/dashboard.ts'
export type { DataUsageApi } from './api/data-usage.ts'
export type { DisclosureApi } from './api/disclosure.ts'
export { DryRunUnsupportedError } from './http/route-api.ts'
export type { CountedSample } from './http/route-api.ts'
export type { EnrollmentApi, JoinRequest } from './api/enrollment.ts'
export type { RosterApi } from './api/roster.ts'
export type { EvidenceApi } from './api/evidence.ts'
export type { ExportOptions, ExportedPage } from './api/evidence-export.ts'
export type { AuditApi } from './api/audit.ts'
export type { HistoryApi } from './api/history.ts'
export type { FindingsApi } from './api/findings.ts'
export type { ChangesApi } from './api/changes.ts'
export type { EvidenceLogApi } from './api/evidence-log.ts'
export type { ClockReading, EndpointState, HealthApi } from './api/health.ts'
export type { OperatorKeysApi } from './api/operator-keys.ts'
export type { PageQuery } from './api/pages.ts'
export type {
  ActiveBoundaryPolicies,
  AddedRule,
  AdmissionRequest,
  AdmissionVerdict,
  AgentFilter,
  AgentPage,
  AgreementTermsRequest,
  AgreementVerdict,
  AnchorPage,
  AnchorResult,
  ArchivePage,
  AssemblyRequest,
  Atlas,
  AttestationFilter,
  AttestationPage,
  AttestationPreview,
  AttestationRequest,
  AttestationRow,
  AttestationVerdict,
  AuditPage,
  AuditQuery,
  BoundaryContext,
  BoundaryPolicyHistory,
  BoundaryPolicyIssue,
  BoundaryPolicyPage,
  BoundaryPolicyRow,
  BoundaryPolicyValidation,
  BoundaryPolicyVerdict,
  BoundaryPolicyVersion,
  BoundaryVerdict,
  CapabilityCount,
  CapabilityPage,
  CertificateFilter,
  CertificatePage,
  Changes,
  CommitRequest,
  Connectome,
  ConsensusVerdict,
  DashboardView,
  DecideRequest,
  DecisionCountQuery,
  DecisionCounts,
  DecisionGroup,
  DecisionGroupPage,
  DisclosureVerdict,
  ErrorCode,
  EvaluateRequest,
  EvaluateResult,
  EvidenceEvent,
  EvidenceFilter,
  EvidencePage,
  ExecutorKey,
  FeedImport,
  FeedImportRequest,
  FirstSteps,
  GatewayErrorCode,
  Health,
  HeartbeatRequest,
  HeartbeatResponse,
  IntentRequest,
  Invite,
  InviteBatch,
  InviteBatchRequest,
  InviteFilter,
  InvitePage,
  InvitePreview,
  InviteRequest,
  InviteRow,
  InviteState,
  InviteWithdrawal,
  InviteWithdrawalRequest,
  IssuedCertificate,
  IssuedState,
  IssuedWit,
  JoinEvidence,
  KeySuccession,
  LicenseRequest,
  ListedAgent,
  ListedAgentPage,
  ListedPartner,
  ListedRule,
  Liveness,
  LogDescription,
  LogWitnessState,
  LogWitnesses,
  Method as HttpMethod,
  NetworkFinding,
  NetworkFindings,
  NewestFilter,
  NewestPage,
  NodeAuditEvents,
  NodeDecision,
  NodeDecisionRequest,
  NodeDetails,
  NodeFilter,
  NodePage,
  NodeState,
  NodeSummary,
  OfferRequest,
  OperatorIdentity,
  OperatorKeyActivity,
  OperatorKeyList,
  OperatorKeyPreview,
  OperatorKeyRequest,
  OperatorKeyRevocation,
  OperatorKeyRow,
  OperatorLimit,
  Partner,
  PartnerAlarm,
  PartnerChanges,
  PartnerPage,
  PartnerPin,
  PartnerPull,
  PartnerRequest,
  PartnerState,
  PartnerTreaties,
  PastAnswer,
  PolicyActivation,
  PolicyHistory,
  PolicySimulation,
  PolicyText,
  PolicyVersion,
  PresentedAttestation,
  PresentedCertificate,
  ProveRequest,
  Readiness,
  RecordedEvidence,
  RecordedUsage,
  RejectedEvidence,
  RejectionPage,
  RemovedPartner,
  RemovedRule,
  RenewRequest,
  RenewedTreaty,
  ResourceHistory,
  RetentionPreview,
  RetentionRequest,
  RetentionResult,
  RevocationAnswer,
  RevocationPreview,
  RevocationTerms,
  RevokedPage,
  Roster,
  RosterEntry,
  RulePage,
  SaltedCommitment,
  SavedRecognitionPolicy,
  SimulationRequest,
  SovereignMetadata,
  StoreStatus,
  StoreVerification,
  StoredDecisionCount,
  Surface,
  SurfaceAccess,
  SurfaceGroup,
  SurfaceMap,
  Surfaces,
  TestedEvidence,
  TreatyAttestationVerdict,
  TreatyFilter,
  TreatyPage,
  TreatyPreview,
  TreatyRequest,
  TreatyRow,
  TreatyVerdict,
  TrustDecision,
  TrustEvidenceRequest,
  TrustEvidenceVerdict,
  UsageRequest,
  UsageVerdict,
  UsageViolation,
  VendorHistory,
} from '@chancery/contract'
export type { PartnersApi } from './api/partners.ts'
export type { AdmissionApi } from './api/admission.ts'
export type { PolicyApi, PolicyRequest, PublishedPolicy } from './api/policy.ts'
export type { RecognitionPolicyApi } from './api/recognition-policy.ts'
export type { RecognitionTreatiesApi } from './api/recognition-treaties.ts'
export type { ReferenceApi } from './api/reference.ts'
export type { FeedPartsImportRequest, RevocationFeedsApi } from './api/revocation-feeds.ts'
export { readFeedInParts, readWholeFeed } from './trust/whole-feed.ts'
export type { FeedInParts, WholeFeed, WholeFeedOptions } from './trust/whole-feed.ts'
export type { SovereignApi } from './api/sovereign.ts'
export { GovernedActionRunner } from './governed/action-runner.ts'
export type {
  ActionReport,
  GovernedAction,
  GovernedActionOptions,
  GovernedResource,
  GovernedResult,
  GovernedStep,
} from './governed/ask-decision.ts'
export { pinAttestation, summarizeDecision } from './governed/decision.ts'
export type { Expectations, GovernedRequest } from './governed/decision.ts'
export { denialCode } from './governed/denial-code.ts'
export type { DenialCode } from './governed/denial-code.ts'
export {
  DecisionVerificationError,
  EvidenceNotStoredError,
  GovernedActionError,
  MetadataRefusedError,
} from './governed/errors.ts'
export { EvidenceSender } from './governed/evidence-sender.ts'
export type { Outcome } from './governed/chains.ts'
export type { Executor, FlushReport, SenderOptions, SenderStep } from './governed/evidence-sender.ts'
export { MemoryOutbox } from './governed/outbox.ts'
export type { ChainHead, Intent, Outbox, OutboxContent, OutboxEntry, ResourceStep } from './governed/outbox.ts'
export * from './verify/index.ts'
export { verifyForeignDecision } from './verify/foreign-decision.ts'
export type { ForeignDecisionInputs, ForeignDecisionVerdict } from './verify/foreign-decision.ts'
export { attestedProofs } from './request-proof/verify.ts'
export { callerBasis } from './request-proof/caller-basis.ts'
export type { CallerBasis, CallerBasisOptions } from './request-proof/caller-basis.ts'
export { signRequest, signingFetch } from './request-proof/sign.ts'
export type { ProofIdentity, ProvingFetchOptions, SigningFetch } from './request-proof/sign.ts'
export { signWimseRequest, verifyWimse } from './request-proof/wimse.ts'
export type {
  AcceptedWimse,
  RequestToSign,
  WimseIdentity,
  WimseIncoming,
  WimseProofPolicy,
  WimseRequest,
} from './request-proof/wimse.ts'
export { ResponseUntrustedError, signResponse } from './request-proof/response.ts'
export type { ResponseCheck, ResponseProblem, ResponseSigner, ResponseToSign } from './request-proof/response.ts'
export type { RequestVerifierOptions, RequestVerifierRefusal } from './request-proof/request-verifier.ts'
export { honoNodeProof } from './request-proof/hono.ts'
export type { WebRequestVerifierOptions } from './request-proof/hono.ts'
export {
  readAttestation,
  readGenesisBlock,
  readJoinCertificate,
  readPrivateKeyFile,
  seedSigner,
  signAgentDelete,
  signNodeProof,
  signOperatorRequest,
} from '@chancery/protocol'
export type * from './record-types.ts'
export * from './evidence-pack/index.ts'
export * from './decision-bundle/index.ts'
export { collectEvidencePack } from './evidence-pack/collect.ts'
export type { GivenRecords } from './evidence-pack/collect.ts'
export * from './trust-history/index.ts'
export { replayEvidencePack } from './evidence-pack/replay.ts'
export type { AskCedar } from './evidence-pack/replay.ts'
