/** All routes of an authority: import it as `@chancery/sdk/authority`. No other entry loads it. */
export { createAuthorityClient } from './client.ts'
export type { AuthorityClient, AuthorityClientOptions, Through } from './client.ts'
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
} from '../client.ts'
export { evidenceApi, partnersApi, policyApi } from './groups.ts'
export type { ClientOptions } from '../http/connection.ts'
export type { CallOptions, ConnectionOptions, WriteOptions } from '../http/call.ts'
export type { Audience, NodeKey, Operator } from '../http/node-signing.ts'
export type { RecordOrText } from '../http/read-response.ts'
export type { RetryDelay, RetryOptions } from '../http/retry.ts'
export { DryRunUnsupportedError } from '../http/route-api.ts'
export type { CountedSample, RouteApi } from '../http/route-api.ts'
export { castVote } from '../trust/cast-vote.ts'
export type { CastVoteOptions, UntrustedJustificationReason, VoteChoice } from '../trust/cast-vote.ts'
export { readFeedInParts, readWholeFeed } from '../trust/whole-feed.ts'
export type { FeedInParts, WholeFeed, WholeFeedOptions } from '../trust/whole-feed.ts'
export type { GivenRecords } from '../evidence-pack/collect.ts'
export type { EvidencePack } from '../evidence-pack/format.ts'
export type { AgentCalls, AgentFacts, AgentRegistration } from '../api/agent-calls.ts'
export type { AgentsApi } from '../api/agents.ts'
export { signApproval } from '../api/approvals.ts'
export type { ApprovalAnswer, ApprovalsApi } from '../api/approvals.ts'
export type { AgreementsApi, DisclosureApi } from '../api/agreements.ts'
export type { BoundaryApi } from '../api/boundary.ts'
export type { BoundaryPoliciesApi } from '../api/boundary-policies.ts'
export type { CrlApi, RevocationRequest, RevocationResult, RevokedCertificates } from '../api/crl.ts'
export type { EnrollmentApi } from '../api/enrollment.ts'
export type { JoinRequest, MemberCalls } from '../api/member.ts'
export type { DecisionRequest } from '../api/decision-request.ts'
export type { EvidenceApi, ExportOptions, ExportedPage } from '../api/evidence.ts'
export type { EvidenceLogApi } from '../api/evidence-log.ts'
export type { ClockReading, EndpointState, HealthApi } from '../api/health.ts'
export type { RosterApi } from '../api/nodes.ts'
export type { PageQuery } from '../api/pages.ts'
export type { PolicyApi, PolicyRequest, PublishedPolicy } from '../api/policy.ts'
export type {
  AttestationsApi,
  FeedPartsImportRequest,
  RecognitionTreatiesApi,
  RevocationFeedsApi,
} from '../api/recognition.ts'
export type { ConnectomeApi, DashboardApi, ReferenceApi } from '../api/views.ts'
export type { BlastRadius } from '@chancery/protocol'
export type * from '../contract-types.ts'
export type * from '../record-types.ts'
