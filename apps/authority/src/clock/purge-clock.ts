import { DAY } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'
import { MAX_CLOCK_JUMP, magnitude, monotonicInstant, wallMinusMonotonic } from './clock-jumps.ts'

/** How far back a process stands that does not believe its clock yet: nothing is so old. */
const UNACCEPTED_OFFSET = 366n * DAY
/** Whoever asks takes hours off. */
const EARLIEST = 10n * DAY

/**
 * The time by which something may be forgotten. A wall clock that is ahead would have spent nonces and deletes
 * forgotten long before their time, and once it is set right they could be replayed. So a clock is believed only when
 * it has gone on without a jump ahead for longer than what is to be forgotten could be replayed, at the start of a
 * process, too; until then the monotonic clock says how late it is. Not even the database is asked: it may stand on the
 * same machine. A jump back is believed at once: it only keeps things longer. Asked often, as jobs do.
 */
export class PurgeClock implements Pick<Clock, 'now'> {
  readonly #clock: Clock
  readonly believedAfterMs: number
  /** Wall clock less monotonic clock, as it is believed. */
  #base: Instant
  #ahead: { readonly base: Instant; readonly sinceMs: number } | undefined

  constructor(clock: Clock, believedAfterMs: number) {
    this.#clock = clock
    this.believedAfterMs = believedAfterMs
    const base = wallMinusMonotonic(clock)
    this.#base = base - UNACCEPTED_OFFSET
    this.#ahead = { base, sinceMs: clock.monotonicMs() }
  }

  now(): Instant {
    this.#look()
    const now = this.#base + monotonicInstant(this.#clock)
    return now > EARLIEST ? now : EARLIEST
  }

  /** As far as time had settled when another process of this database noted it; never ahead of the clock. */
  goOnFrom(settled: Instant): void {
    const base = settled - monotonicInstant(this.#clock)
    if (base <= this.#base) return
    const wall = wallMinusMonotonic(this.#clock)
    this.#base = base < wall ? base : wall
  }

  #look(): void {
    const [base, ms] = [wallMinusMonotonic(this.#clock), this.#clock.monotonicMs()]
    const ahead = this.#ahead
    if (base - this.#base <= MAX_CLOCK_JUMP) this.#accept(base)
    else if (ahead === undefined || magnitude(base - ahead.base) > MAX_CLOCK_JUMP) this.#ahead = { base, sinceMs: ms }
    else if (ms - ahead.sinceMs >= this.believedAfterMs) this.#accept(base)
  }

  #accept(base: Instant): void {
    this.#base = base
    this.#ahead = undefined
  }
}

/** Signed requests are taken within five minutes of their time (protocol/core 5.1, 11.3). */
export const NONCE_DELAY_MS = 3_600_000
/** Descriptors of agents and answers under an idempotency key live for a day (protocol/core 13.2, 11.5). */
export const DAILY_DELAY_MS = 25 * 3_600_000
