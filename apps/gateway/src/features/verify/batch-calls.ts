import type { GatewayErrorName } from '@chancery/contract'
import type { Instant, JoinCertificate, JsonObject } from '@chancery/protocol'
import type { TrustData } from '../../trust/snapshot.ts'
import type { AuditedDecision } from './audited-decision.ts'

/** The body is sent to the thread as bytes. Copying bytes costs a hundredth of copying the parsed value. */
export interface BatchRequest {
  readonly bytes: Uint8Array
  readonly maxBatch: number
  readonly networks: readonly string[]
}

export interface SingleRequest {
  readonly bytes: Uint8Array
  readonly networks: readonly string[]
}

export interface RefusedResult {
  readonly refusal: GatewayErrorName
  readonly details: JsonObject | undefined
}

export type CheckResult = { readonly count: number } | RefusedResult
export type CertificateResult = { readonly certificate: JoinCertificate } | RefusedResult

export interface VerifyRequest {
  readonly now: Instant
  /** Set only when the thread lacks this version. */
  readonly trust: TrustData | undefined
  readonly version: number
  /** Whether the audit stores the decisions. */
  readonly isAudited: boolean
}

export interface BatchResult {
  /** The response as JSON text. The main thread sends it unread. */
  readonly body: Uint8Array
  readonly trusted: number
  readonly untrusted: number
  readonly audited: { readonly decisions: readonly AuditedDecision[]; readonly digests: readonly string[] } | undefined
}
