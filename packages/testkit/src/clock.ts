import { type Instant, readInstant } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'

/** A time that passes. */
export interface Span {
  readonly seconds?: number
  readonly hours?: number
  readonly days?: number
}

function secondsOf({ seconds = 0, hours = 0, days = 0 }: Span): number {
  return seconds + hours * 3600 + days * 86_400
}

/** A clock that a test moves. */
export class ManualClock implements Clock {
  #now: Instant
  #monotonicMs = 0

  /** An instant, or its text such as `2026-01-02T03:04:05Z`. */
  constructor(start: Instant | string | Date = '2026-01-02T03:04:05Z') {
    this.#now = toInstant(start)
  }

  now(): Instant {
    return this.#now
  }

  /** For options that take a function. */
  get clock(): () => Instant {
    return () => this.#now
  }

  monotonicMs(): number {
    return this.#monotonicMs
  }

  /** Time passes, in seconds or as a span: wall clock and monotonic clock move together. */
  advance(by: number | Span): void {
    const seconds = typeof by === 'number' ? by : secondsOf(by)
    if (!(seconds >= 0)) throw new RangeError('time passes forwards; a wall clock is moved with set()')
    this.#now += BigInt(Math.round(seconds * 1_000_000))
    this.#monotonicMs += seconds * 1000
  }

  /** Moves the wall clock, also backwards; the monotonic clock does not change. */
  set(instant: Instant | string): void {
    this.#now = toInstant(instant)
  }
}

function toInstant(value: Instant | string | Date): Instant {
  if (typeof value === 'bigint') return value
  if (value instanceof Date) return BigInt(value.getTime()) * 1000n
  const instant = readInstant(value)
  if (instant === undefined) throw new TypeError('not an instant')
  return instant
}
