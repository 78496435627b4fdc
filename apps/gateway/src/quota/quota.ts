import { type Instant, seconds } from '@chancery/protocol'
import type { MaybePromise } from '@chancery/service-kit'

/** What is counted for a client in windows of 60 s. */
export type QuotaKind = 'requests' | 'certificates' | 'decisions'

export interface QuotaClaim {
  readonly clientId: string
  readonly kind: QuotaKind
  readonly limit: number
  readonly cost: number
}

/** A request proof that may be used once. */
export interface SpentProof {
  /** Node key and nonce. */
  readonly name: string
  readonly created: Instant
}

/** Undefined when granted, otherwise the rest of the window. */
export type QuotaResult = { readonly retryAfterMs: number } | undefined

export type SpendResult = 'replayed' | QuotaResult

/**
 * Counts and checks in one step. A refused claim does not count (protocol/gateway 15). Implementations MUST reject with
 * {@link QuotaUnavailableError} when they could not count: a guess would not be a quota.
 */
export interface Quota {
  claim(claim: QuotaClaim): MaybePromise<QuotaResult>
  /**
   * Counts a request and spends its proof, in one step. A spent proof is found first, so replays use up nothing of the
   * quota of the node; a refused claim spends nothing. Throws when it cannot know whether the proof was spent.
   */
  spend(proof: SpentProof, claim: QuotaClaim): MaybePromise<SpendResult>
  /** Returns whether it can count now, within a second. */
  probe(): Promise<boolean>
  close(): Promise<void>
}

/** The shared backend did not count. There is no local fallback. */
export class QuotaUnavailableError extends Error {
  override readonly name = 'QuotaUnavailableError'
}

export const WINDOW_MS = 60_000
/** A proof is accepted from 30 s before until 60 s after its time. */
export const PROOF_MS = 120_000
export const MAX_AHEAD: Instant = seconds(30)
