import { seconds } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'

const JUMP_OVER = seconds(5)
/** Longer than anything signed by the true time can still be replayed (protocol/core 5.1, 11.3). */
const BELIEVED_AFTER_MS = 3_600_000

/**
 * The time by which something may be forgotten. A wall clock that jumps ahead would have spent nonces and deletes
 * forgotten long before their time, and once it is set right they could be replayed. So a jump ahead is not believed
 * for an hour, unless the clock of the database confirms it; until then the monotonic clock says how late it is. A jump
 * back is believed at once: it only keeps things longer. Asked often, as jobs do.
 */
export class SettledTime implements Pick<Clock, 'now'> {
  readonly #clock: Clock
  readonly #isConfirmed: () => boolean
  /** Wall clock less monotonic clock, as it is believed. */
  #base: Instant
  #ahead: { readonly base: Instant; readonly sinceMs: number } | undefined

  constructor(clock: Clock, isConfirmed: () => boolean) {
    this.#clock = clock
    this.#isConfirmed = isConfirmed
    this.#base = this.#difference()
  }

  now(): Instant {
    this.#look()
    return this.#base + this.#monotonic()
  }

  #look(): void {
    const [base, ms] = [this.#difference(), this.#clock.monotonicMs()]
    const ahead = this.#ahead
    if (base - this.#base <= JUMP_OVER || this.#isConfirmed()) this.#believe(base)
    else if (ahead === undefined || magnitude(base - ahead.base) > JUMP_OVER) this.#ahead = { base, sinceMs: ms }
    else if (ms - ahead.sinceMs >= BELIEVED_AFTER_MS) this.#believe(base)
  }

  #believe(base: Instant): void {
    this.#base = base
    this.#ahead = undefined
  }

  #difference(): Instant {
    return this.#clock.now() - this.#monotonic()
  }

  #monotonic(): Instant {
    return BigInt(Math.round(this.#clock.monotonicMs() * 1000))
  }
}

function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value
}
