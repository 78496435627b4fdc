import type { MaybePromise } from '../async/maybe-promise.ts'

/**
 * Counts hits per bucket in windows of 60 s (protocol/core 21). The bucket names the limiter and the key, for example
 * `login 192.0.2.1`. Implementers share windows between instances where they can, may gather calls into batches, and
 * MUST reject with {@link LimiterUnavailableError} when they could not count: an answer that was guessed would be either an
 * unlimited route or a closed one, and the caller decides which failure it wants.
 */
export interface Limiter {
  /** How the readiness document calls it. */
  readonly name: string
  /** Counts this hit; true when it is within the limit. A refused hit need not be counted. */
  hit(bucket: string, limit: number): MaybePromise<boolean>
  /** Checks without counting: true when a hit now would be refused. For limits that count failures only. */
  isOver(bucket: string, limit: number): MaybePromise<boolean>
  /** Resolves when the limiter can count now; rejects with {@link LimiterUnavailableError} otherwise. */
  probe(): Promise<void>
  /** Releases what it holds. */
  close(): Promise<void>
}

/** The limiter could not count. Never to be taken for "within the limit". */
export class LimiterUnavailableError extends Error {
  override readonly name = 'LimiterUnavailableError'

  constructor(limiter: string, options?: ErrorOptions) {
    super(`the ${limiter} limiter cannot count`, options)
  }
}
