export { createClient } from './client.ts'
export type { Client, ClientOptions } from './client.ts'
export type { ConnectionOptions } from './connection-options.ts'
export { createGatewayClient } from './gateway/client.ts'
export type { GatewayClient, GatewayDescription, GatewayNetworks, GatewayOptions } from './gateway/client.ts'
export type { ForwardedCall, OperationId } from './gateway/open-operation.ts'
export { GATEWAY_METHODS, ROUTE_METHODS } from './route-methods.ts'
export type { GatewayMethods, RouteMethods } from './route-methods.ts'
export type { Audience } from './audience.ts'
export { asAuthority } from './gateway/as-authority.ts'
export type { AuthorityOptions, GatewayAccess } from './gateway/as-authority.ts'
export type { TokenSource } from './gateway/token.ts'
export type { Call, CallOptions, Caller, Connection, WriteOptions } from './call.ts'
export {
  AnswerError,
  BadRequestError,
  ChanceryError,
  ConflictError,
  ForbiddenError,
  NotFoundError,
  RateLimitError,
  RefusedError,
  RequestError,
  ServiceUnavailableError,
  UnauthorizedError,
  UnreachableError,
  ValidationError,
} from './errors.ts'
export type { NodeKey } from './node-key.ts'
export { Node } from './node/node.ts'
export type { NodeOptions } from './node/node.ts'
export { CertificateError, RevokedError } from './node/certificate.ts'
export { JoinInterruptedError } from './node/enroll.ts'
export type { NodeAction, NodeEvents, RefusedList } from './node/events.ts'
export { FollowedKeys } from './node/followed.ts'
export type { Followed, KeyStore } from './node/followed.ts'
export { FollowedParty } from './followed-party.ts'
export type { FollowedPartyOptions, ListOutcome, Refreshed } from './followed-party.ts'
export { isFinalRefusal } from './node/final-refusals.ts'
export * as schedule from './node/schedule.ts'
export { MemoryNodeStore } from './node/store.ts'
export type { NodeDocument, NodeStore } from './node/store.ts'
export type { Operator } from './operator.ts'
export { withExistingNames } from './existing/names.ts'
export type { ExistingNames } from './existing/names.ts'
export type { EvidenceStoreNames, ResourceState } from './existing/sub-clients.ts'
export { RETRY_DEFAULTS, isContention, mayMove, mayRepeat } from './retry.ts'
export type { Pause, RetryOptions } from './retry.ts'
export type { Fetch } from './transport.ts'
export type { AgentFacts, AgentPage, AgentRegistration, AgentsArea } from './areas/agents.ts'
export type {
  AttestationFilter,
  AttestationForecast,
  AttestationPage,
  AttestationRequest,
  AttestationRow,
  AttestationVerdict,
  AttestationsArea,
  TreatyAttestationVerdict,
} from './areas/attestations.ts'
export type {
  AcceptRequest,
  AgreementTermsRequest,
  AgreementVerdict,
  AgreementVerifyRequest,
  AgreementsArea,
  CounterRequest,
  OfferRequest,
} from './areas/agreements.ts'
export type {
  BoundaryArea,
  BoundaryContext,
  BoundaryVerdict,
  DecideRequest,
  EvaluateRequest,
  Evaluated,
} from './areas/boundary.ts'
export type {
  TrustDecision,
  TrustEvidenceArea,
  TrustEvidenceRequest,
  TrustEvidenceVerdict,
} from './areas/trust-evidence.ts'
export type {
  ActiveBoundaryPolicies,
  BoundaryPoliciesArea,
  BoundaryPolicyHistory,
  BoundaryPolicyIssue,
  BoundaryPolicyPage,
  BoundaryPolicyRow,
  BoundaryPolicyValidation,
  BoundaryPolicyVerdict,
  BoundaryPolicyVersion,
  PolicyActivation,
  PolicySimulation,
} from './areas/boundary-policies.ts'
export type { Atlas, Connectome, ConnectomeArea, RevokedPage } from './areas/connectome.ts'
export type { BlastRadius } from '@chancery/protocol'
export type { AssemblyRequest, ConsensusArea, ConsensusVerdict } from './areas/consensus.ts'
export type {
  CrlArea,
  RevocationForecast,
  RevocationRequest,
  RevocationResult,
  RevokedCertificates,
} from './areas/crl.ts'
export type { DashboardArea, DashboardView } from './areas/dashboard.ts'
export type { DataUsageArea, IntentRequest, LicenseRequest, UsageVerdict, UsageViolation } from './areas/data-usage.ts'
export type { DisclosureArea, DisclosureVerdict, ProveRequest } from './areas/disclosure.ts'
export { DryRunUnsupportedError } from './areas/dry-run.ts'
export type { Counted, DryRun, RealRun } from './areas/dry-run.ts'
export type {
  EnrollmentArea,
  HeartbeatAnswer,
  HeartbeatRequest,
  Invite,
  InviteRequest,
  JoinRequest,
  RenewRequest,
  Roster,
  RosterEntry,
} from './areas/enrollment.ts'
export type {
  InviteBatch,
  InviteBatchRequest,
  InviteChoice,
  InviteFilter,
  InviteForecast,
  InvitePage,
  InviteRow,
  InviteState,
  InviteWithdrawal,
  InviteWithdrawalRequest,
  InvitesArea,
} from './areas/invites.ts'
export type {
  AnchorPage,
  AnchorResult,
  EvidenceArea,
  EvidenceEvent,
  EvidenceFilter,
  EvidencePage,
  ExecutorKey,
  RecordedEvidence,
  RetentionResult,
} from './areas/evidence.ts'
export type { EvidenceLogArea } from './areas/evidence-log.ts'
export type { ClockReading, EndpointState, Health, HealthArea, Liveness, Readiness } from './areas/health.ts'
export type {
  OperatorKeyActivity,
  OperatorKeyForecast,
  OperatorKeyRevocation,
  OperatorKeysArea,
} from './areas/operator-keys.ts'
export type { PageQuery, Paging } from './areas/page.ts'
export type { PolicyArea, PolicyHistory, PolicyRequest, PolicyVersion, PublishedPolicy } from './areas/policy.ts'
export type { RecognitionPolicyArea, SavedRecognitionPolicy } from './areas/recognition-policy.ts'
export type {
  RecognitionTreatiesArea,
  TreatyFilter,
  TreatyForecast,
  TreatyPage,
  TreatyRequest,
  TreatyRow,
  TreatyVerdict,
} from './areas/recognition-treaties.ts'
export type { ReferenceArea, Surfaces } from './areas/reference.ts'
export type { FeedImport, FeedImportRequest, RevocationFeedsArea } from './areas/revocation-feeds.ts'
export type { SovereignArea, SovereignMetadata } from './areas/sovereign.ts'
export { Governor } from './governed/governor.ts'
export type { ActionReport, GovernedAction, GovernedResult, GovernedStep, GovernorOptions } from './governed/action.ts'
export { pinAttestation, summarizeDecision } from './governed/decision.ts'
export type { Expectations } from './governed/decision.ts'
export {
  DecisionVerificationError,
  EvidenceNotKeptError,
  GovernedActionError,
  MetadataRefusedError,
} from './governed/errors.ts'
export { EvidenceKeeper } from './governed/evidence-keeper.ts'
export type { Outcome } from './governed/evidence-draft.ts'
export type { Executor, FlushReport, KeeperParts, KeeperStep } from './governed/evidence-keeper.ts'
export { MemoryOutbox } from './governed/outbox.ts'
export type { ChainHead, Intent, Outbox, OutboxContent, OutboxEntry, ResourceStep } from './governed/outbox.ts'
export * from './verify/index.ts'
export { proveRequest, provingFetch } from './request-proof/sign.ts'
export type { ProofIdentity, ProvingFetch, ProvingFetchOptions, RequestToProve } from './request-proof/sign.ts'
export type { GuardOptions, GuardRefusal } from './request-proof/guard.ts'
export { honoNodeProof } from './request-proof/hono.ts'
// For callers that sign by hand: the helpers of the protocol under the library's roof.
export { readPrivateKeyFile, seedSigner, signAgentDelete, signNodeProof, signOperatorRequest } from '@chancery/protocol'
export type { Signer } from '@chancery/protocol'
