import type { Soon } from '@chancery/service-kit'

/** What is counted for a client in windows of 60 s. */
export type QuotaKind = 'requests' | 'certificates'

export interface QuotaClaim {
  readonly clientId: string
  readonly kind: QuotaKind
  readonly limit: number
  readonly cost: number
}

/** Undefined when granted; otherwise how long the window still lasts. */
export type QuotaAnswer = { readonly retryAfterMs: number } | undefined

/**
 * Counts and checks in one step; a refused claim does not count (protocol/gateway 15). Implementers MUST reject with
 * {@link QuotaUnavailable} when they could not count: a guessed answer would be no quota at all.
 */
export interface Quota {
  take(claim: QuotaClaim): Soon<QuotaAnswer>
  /** Whether it can count now; answers within a second. */
  probe(): Promise<boolean>
  close(): Promise<void>
}

/** The shared backend did not count. There is no local fallback. */
export class QuotaUnavailable extends Error {
  override readonly name = 'QuotaUnavailable'
}

export const WINDOW_MS = 60_000
