import { type Instant, readInstant } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'

/** A clock that a test moves. */
export class ManualClock implements Clock {
  #now: Instant
  #monotonicMs = 0

  /** An instant, or its text such as `2026-01-02T03:04:05Z`. */
  constructor(start: Instant | string = '2026-01-02T03:04:05Z') {
    this.#now = toInstant(start)
  }

  now(): Instant {
    return this.#now
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  /** Time passes: wall clock and monotonic clock move together. */
  advance(seconds: number): void {
    if (!(seconds >= 0)) throw new RangeError('time passes forwards; a wall clock is moved with set()')
    this.#now += BigInt(Math.round(seconds * 1_000_000))
    this.#monotonicMs += seconds * 1000
  }

  /** Moves the wall clock, also backwards; the monotonic clock does not change. */
  set(instant: Instant | string): void {
    this.#now = toInstant(instant)
  }
}

function toInstant(value: Instant | string): Instant {
  if (typeof value === 'bigint') return value
  const instant = readInstant(value)
  if (instant === undefined) throw new TypeError('not an instant')
  return instant
}
