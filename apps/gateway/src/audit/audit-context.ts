import type { JsonObject, JsonValue } from '@chancery/protocol'

/**
 * What is known of one request for the audit (protocol/gateway 16.2), filled in as it becomes known. Members are named
 * one by one on purpose: whatever is not written here cannot reach the audit.
 */
export interface AuditContext {
  /** Of a request that was refused before its work could begin, with the reason it was told. */
  outcome?: 'refused'
  reason?: string
  client_id?: string
  policy_revision?: string
  network?: string
  /** Id of a catalogued operation. */
  operation?: string
  /** Whose signature an operator-signed operation carried; the authority judges it. */
  admin_key_id?: string
  upstream_status?: number
  upstream_request_id?: string
  /** It was sent to an authority, and whether it had an effect there is not known. */
  outcome_uncertain?: true
  auth_method?: 'bearer' | 'oidc' | 'development'
  client_request_id?: string
  peer_certificate_sha256?: string
  trust_decision?: { readonly trusted: boolean; readonly reasons: readonly string[] }
  trust_decisions?: readonly { readonly trusted: boolean; readonly reasons: readonly string[] }[]
  /** SHA-256 of each signing input: an auditor who holds a certificate finds its decisions. */
  certificate_digests?: readonly string[]
  crl?: { readonly issuer: string; readonly sequence: number }
}

export function toJson(context: AuditContext): JsonObject {
  return context as unknown as { readonly [name: string]: JsonValue }
}
