import type { GatewayErrorName } from '@chancery/contract'
import type { Instant, JoinCertificate, JsonObject } from '@chancery/protocol'
import type { TrustData } from '../../trust/snapshot.ts'
import type { AuditedDecision } from './audited-decision.ts'

/** The body of a request travels as the bytes it came in: copying them costs a hundredth of copying what they say. */
export interface BatchRequest {
  readonly bytes: Uint8Array
  readonly maxBatch: number
  readonly networks: readonly string[]
}

export interface SingleRequest {
  readonly bytes: Uint8Array
  readonly networks: readonly string[]
}

export interface Refused {
  readonly refusal: GatewayErrorName
  readonly details: JsonObject | undefined
}

export type Checked = { readonly count: number } | Refused
export type ReadCertificate = { readonly certificate: JoinCertificate } | Refused

export interface JudgeRequest {
  readonly now: Instant
  /** Only when this thread has not seen the version yet. */
  readonly trust: TrustData | undefined
  readonly version: number
  /** Whether anybody will read what the audit keeps of it. */
  readonly isAudited: boolean
}

export interface BatchResult {
  /** The answer as JSON text: the main thread sends it without looking at it. */
  readonly body: Uint8Array
  readonly trusted: number
  readonly untrusted: number
  readonly audited: { readonly decisions: readonly AuditedDecision[]; readonly digests: readonly string[] } | undefined
}
