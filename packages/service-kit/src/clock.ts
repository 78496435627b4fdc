import type { Instant } from '@chancery/protocol'

/** The only way to ask for the time. Tests and rehearsals move it; everything else takes what it gives. */
export interface Clock {
  /** Wall time. Two calls may give the same instant, and a corrected system clock may go backwards. */
  now(): Instant
  /** Milliseconds from an arbitrary start that never go backwards: for durations, windows and time-outs. */
  monotonicMs(): number
}

/**
 * The one reader of the system's time. `Date.now` is looked up at each call, so that a module loaded before the
 * service can move it; such a module may hand out fractions, which an instant does not have.
 */
export const systemClock: Clock = {
  now: () => BigInt(Math.floor(Date.now())) * 1000n,
  monotonicMs: () => performance.now(),
}
