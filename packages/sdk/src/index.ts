export { createClient } from './client.ts'
export type { Client, ClientOptions } from './client.ts'
export type { Audience } from './audience.ts'
export type { Call, CallOptions, Caller, Connection, WriteOptions } from './call.ts'
export { AnswerError, ChanceryError, RefusedError, RequestError, UnreachableError } from './errors.ts'
export type { Node } from './node.ts'
export type { Operator } from './operator.ts'
export { RETRY_DEFAULTS, mayRepeat } from './retry.ts'
export type { Pause, RetryOptions } from './retry.ts'
export type { Fetch } from './transport.ts'
export type { AgentFacts, AgentPage, AgentRegistration, AgentsArea } from './areas/agents.ts'
export type { CrlArea, RevocationRequest, RevocationResult } from './areas/crl.ts'
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
export type { ClockReading, Health, HealthArea, Liveness, Readiness } from './areas/health.ts'
export type { OperatorKeyRevocation, OperatorKeysArea } from './areas/operator-keys.ts'
export type { PageQuery, Paging } from './areas/page.ts'
export type { PolicyArea, PolicyHistory, PolicyRequest, PolicyVersion, PublishedPolicy } from './areas/policy.ts'
export type { ReferenceArea, Surfaces } from './areas/reference.ts'
export type { SovereignArea, SovereignMetadata } from './areas/sovereign.ts'
// For callers that sign by hand: the helpers of the protocol under the library's roof.
export { readPrivateKeyFile, seedSigner, signAgentDelete, signNodeProof, signOperatorRequest } from '@chancery/protocol'
export type { Signer } from '@chancery/protocol'
