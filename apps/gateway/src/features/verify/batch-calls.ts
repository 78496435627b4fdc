import type { GatewayErrorName } from '@chancery/contract'
import type { Instant, JsonObject } from '@chancery/protocol'
import type { TrustData } from '../../trust/snapshot.ts'

export interface PrepareRequest {
  readonly bytes: Uint8Array
  readonly maxBatch: number
  readonly networks: readonly string[]
}

export type Prepared =
  | { readonly count: number }
  | { readonly refusal: GatewayErrorName; readonly details: JsonObject | undefined }

export interface RunRequest {
  readonly now: Instant
  /** Only when this thread has not seen the version yet. */
  readonly trust: TrustData | undefined
  readonly version: number
}

export interface BatchResult {
  /** The answer as JSON text: the main thread sends it without looking at it. */
  readonly body: Uint8Array
  readonly decisions: readonly { readonly trusted: boolean; readonly reasons: readonly string[] }[]
  readonly digests: readonly string[]
}
