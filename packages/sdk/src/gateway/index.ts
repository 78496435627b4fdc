/** A gateway, and AuthZEN: import it as `@chancery/sdk/gateway`. */
export { createGatewayClient } from './client.ts'
export type { GatewayClient, GatewayOptions } from './client.ts'
export { createAuthzenClient } from './authzen.ts'
export type {
  AuthzenAction,
  AuthzenAnswer,
  AuthzenClient,
  AuthzenConfiguration,
  AuthzenResource,
  AuthzenSubject,
  EvaluationRequest,
  EvaluationResponse,
  EvaluationsRequest,
  EvaluationsResponse,
  EvaluationsSemantic,
  Verifying,
} from './authzen-forms.ts'
export type { TokenSource } from './bearer.ts'
export type { ConnectionOptions as Connection } from '../http/call.ts'
export type { Answer } from '../node/answer.ts'
export type { AskOptions, Decider } from '../node/decider.ts'
export type { CertificateTrust, CertificateVerdict } from '../trust/certificate-verdict.ts'
export type { NetworkIdentity } from '../trust/identity.ts'
export type { Time } from '../trust/signing-time.ts'
export type { AllowedDecision, Decision, DeniedDecision } from '../verify/verdict.ts'
export type { JoinCertificate as Certificate, JsonObject, JsonValue } from '@chancery/protocol'
