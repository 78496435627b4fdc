import type { MaybePromise } from '../async/steps.ts'

/**
 * Counts hits per bucket in windows of 60 s (protocol/core 21). The bucket names the limiter and the key, for example
 * `login 192.0.2.1`. Implementations share windows between instances where they can, and may count calls in batches.
 * They MUST reject with {@link LimiterUnavailableError} when they cannot count: the caller decides whether to allow or
 * refuse then.
 */
export interface Limiter {
  /** Its name in the readiness document. */
  readonly name: string
  /** Counts this hit and returns true when it is within the limit. A refused hit need not be counted. */
  hit(bucket: string, limit: number): MaybePromise<boolean>
  /** Checks without counting: true when a hit now would be refused. For limits that count failures only. */
  isOver(bucket: string, limit: number): MaybePromise<boolean>
  /** Hits counted in the window that ends now. */
  used(bucket: string): MaybePromise<number>
  /** Resolves when the limiter can count now; rejects with {@link LimiterUnavailableError} otherwise. */
  probe(): Promise<void>
  /** Releases its resources. */
  close(): Promise<void>
}

/** The limiter could not count. This never means "within the limit". */
export class LimiterUnavailableError extends Error {
  override readonly name = 'LimiterUnavailableError'

  constructor(limiter: string, options?: ErrorOptions) {
    super(`the ${limiter} limiter cannot count`, options)
  }
}
