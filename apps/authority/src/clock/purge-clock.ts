import { DAY, type Instant } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'
import { MAX_CLOCK_JUMP, magnitude, monotonicInstant, wallMinusMonotonic } from './clock-jumps.ts'

/** Offset until the clock is accepted. Larger than the age of any row. */
const UNACCEPTED_OFFSET = 366n * DAY
/** Leaves room for callers that subtract hours. */
const EARLIEST = 10n * DAY

/**
 * The time by which rows may be purged. With a wall clock that is ahead, spent nonces and deletes would be purged too
 * early, and could be replayed after the clock is corrected. So a clock is accepted only after it has run without a
 * jump ahead for longer than the purged rows could be replayed, also at the start of a process. Until then the
 * monotonic clock gives the time. The database clock is not used, because the database may run on the same machine. A
 * jump back is accepted immediately, because it only delays purges. Jobs call it often.
 */
export class PurgeClock implements Pick<Clock, 'now'> {
  readonly #clock: Clock
  readonly acceptedAfterMs: number
  /** Accepted difference of wall clock and monotonic clock. */
  #base: Instant
  #ahead: { readonly base: Instant; readonly sinceMs: number } | undefined

  constructor(clock: Clock, acceptedAfterMs: number) {
    this.#clock = clock
    this.acceptedAfterMs = acceptedAfterMs
    const base = wallMinusMonotonic(clock)
    this.#base = base - UNACCEPTED_OFFSET
    this.#ahead = { base, sinceMs: clock.monotonicMs() }
  }

  now(): Instant {
    this.#check()
    const now = this.#base + monotonicInstant(this.#clock)
    return now > EARLIEST ? now : EARLIEST
  }

  /** Uses the accepted time that another process of this database stored. Never ahead of the clock. */
  continueFrom(purgeClock: Instant): void {
    const base = purgeClock - monotonicInstant(this.#clock)
    if (base <= this.#base) return
    const wall = wallMinusMonotonic(this.#clock)
    this.#base = base < wall ? base : wall
  }

  #check(): void {
    const [base, ms] = [wallMinusMonotonic(this.#clock), this.#clock.monotonicMs()]
    const ahead = this.#ahead
    if (base - this.#base <= MAX_CLOCK_JUMP) this.#accept(base)
    else if (ahead === undefined || magnitude(base - ahead.base) > MAX_CLOCK_JUMP) this.#ahead = { base, sinceMs: ms }
    else if (ms - ahead.sinceMs >= this.acceptedAfterMs) this.#accept(base)
  }

  #accept(base: Instant): void {
    this.#base = base
    this.#ahead = undefined
  }
}

/** Signed requests are accepted within five minutes of their time (protocol/core 5.1, 11.3). */
export const NONCE_DELAY_MS = 3_600_000
/** Agent descriptors and responses for an idempotency key are valid for a day (protocol/core 13.2, 11.5). */
export const DAILY_DELAY_MS = 25 * 3_600_000
