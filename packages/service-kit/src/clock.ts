import type { Instant } from '@chancery/protocol'

/** The only source of time. Tests and rehearsals move it. */
export interface Clock {
  /** Wall time. Two calls may return the same instant, and a corrected system clock may go backwards. */
  now(): Instant
  /** Milliseconds from an arbitrary start that never go backwards: for durations, windows and time-outs. */
  monotonicMs(): number
}

/**
 * Reads the system time. `Date.now` is looked up at each call, so that a module loaded before the service can move it.
 * Such a module may return fractions, which an instant does not have.
 */
export const systemClock: Clock = {
  now: () => BigInt(Math.floor(Date.now())) * 1000n,
  monotonicMs: () => performance.now(),
}
