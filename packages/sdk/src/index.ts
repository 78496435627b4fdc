export { createClient, toAreas } from './client.ts'
export type {
  AdmissionApi,
  AuditApi,
  BudgetsApi,
  ChangesApi,
  Client,
  ConsensusApi,
  DataUsageApi,
  FindingsApi,
  HistoryApi,
  OperatorKeysApi,
  PartnersApi,
  RecognitionPolicyApi,
  SovereignApi,
  TrustEvidenceApi,
} from './client.ts'
export { openConnection } from './http/connection.ts'
export type { ClientOptions } from './http/connection.ts'
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
export { nodeAreas } from './node/areas.ts'
export type { NodeAreas } from './node/areas.ts'
export { EvidenceError, freshEvidence } from './node/evidence.ts'
export type { EvidenceAudience, EvidenceSource, NodeEvidence } from './node/evidence.ts'
export type { FetchAsOptions } from './node/node.ts'
export { TokenRefusedError, requestToken } from './tokens/access-token.ts'
export type { AccessToken, TokenDecision, TokenIdentity, TokenRequest } from './tokens/access-token.ts'
export { createDpopKey } from './tokens/dpop.ts'
export type { DpopKey, DpopRequest } from './tokens/dpop.ts'
export type { TokenFetchOptions } from './tokens/fetch-with-token.ts'
export type { NodeOptions } from './node/options.ts'
export { waitForApproval } from './node/held.ts'
export type { NodeAnswer, WaitOptions } from './node/held.ts'
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
export { approvalsApi, signApproval } from './api/approvals.ts'
export type { ApprovalAnswer, ApprovalsApi } from './api/approvals.ts'
export { boundaryApi } from './api/boundary.ts'
export type { BoundaryApi } from './api/boundary.ts'
export type { BoundaryPoliciesApi } from './api/boundary-policies.ts'
export type { BlastRadius, ForeignDecisionFault, NodeAction as SignedNodeAction } from '@chancery/protocol'
export type { CrlApi, RevocationRequest, RevocationResult, RevokedCertificates } from './api/crl.ts'
export { DryRunUnsupportedError, routeApi } from './http/route-api.ts'
export type { CountedSample, RouteApi } from './http/route-api.ts'
export type { EnrollmentApi, JoinRequest } from './api/enrollment.ts'
export type { EvidenceApi, ExportOptions, ExportedPage } from './api/evidence.ts'
export type { AgreementsApi, DisclosureApi } from './api/agreements.ts'
export type { RosterApi } from './api/nodes.ts'
export type {
  AttestationsApi,
  FeedPartsImportRequest,
  RecognitionTreatiesApi,
  RevocationFeedsApi,
} from './api/recognition.ts'
export type { ConnectomeApi, DashboardApi, ReferenceApi } from './api/views.ts'
export type { EvidenceLogApi } from './api/evidence-log.ts'
export type { ClockReading, EndpointState, HealthApi } from './api/health.ts'
export type { PageQuery } from './api/pages.ts'
export * from './contract-types.ts'
export type { PolicyApi, PolicyRequest, PublishedPolicy } from './api/policy.ts'
export { readFeedInParts, readWholeFeed } from './trust/whole-feed.ts'
export type { FeedInParts, WholeFeed, WholeFeedOptions } from './trust/whole-feed.ts'
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
