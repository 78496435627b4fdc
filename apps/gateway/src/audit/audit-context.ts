import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { AuthMethod } from '../auth/access.ts'

/**
 * Collects what the audit stores of one request (protocol/gateway 16.2). Members are listed one by one: a member that
 * is not listed here cannot reach the audit.
 */
export interface AuditContext {
  /** Set when the request was refused before its work began, with the reason sent to the caller. */
  outcome?: 'refused'
  reason?: string
  client_id?: string
  policy_revision?: string
  /** Of the caller, or the one that was asked when the caller has none. */
  network?: string
  /** Id of a catalogued operation. */
  operation?: string
  /** Key id of an operator signature. The authority verifies it. */
  admin_key_id?: string
  upstream_status?: number
  upstream_request_id?: string
  /** The request was sent to an authority. Its effect is unknown. */
  outcome_uncertain?: true
  auth_method?: AuthMethod
  client_request_id?: string
  /** The trace that the caller named. It proves nothing. */
  trace_id?: string
  peer_certificate_sha256?: string
  trust_decision?: { readonly trusted: boolean; readonly reasons: readonly string[] }
  trust_decisions?: readonly { readonly trusted: boolean; readonly reasons: readonly string[] }[]
  /** SHA-256 of each signing input. An auditor with a certificate can find its decisions. */
  certificate_digests?: readonly string[]
  /** One for each question, in their order. */
  decisions?: readonly AuditedDecision[]
  /** How the proxy of an HTTP check sent the original request. */
  dialect?: string
  /** The route of the policy that an HTTP check used: method and path pattern. */
  check_route?: string
  /** The network whose authority decides on that route. The caller may be of another one. */
  decision_network?: string
  crl?: { readonly issuer: string; readonly sequence: number }
}

export interface AuditedDecision {
  /** Null when there was no decision. `reason` says why none was passed on. */
  readonly decision_id: string | null
  readonly reason?: string
  readonly authorized: boolean
  /** The decision was given before, for the identical question of the same client. */
  readonly reused: boolean
}

export function toJson(context: AuditContext): JsonObject {
  return context as unknown as { readonly [name: string]: JsonValue }
}
