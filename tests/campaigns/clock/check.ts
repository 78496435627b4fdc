import type { Instant } from '@chancery/protocol'
import type { ClockSetup } from './setup.ts'
import type { Random } from '../lib/random.ts'

/** Compares what a rule expects, computed from the rule and the clock alone, with what the authority did. */
export type Compare = (what: string, expected: Outcome, got: Outcome) => void
export type Outcome = string | number | boolean

/** One rule of the protocol that depends on time. */
export interface Check {
  readonly name: string
  /** Creates the test data at the time `stage.made`. */
  prepare(setup: ClockSetup, compare: Compare): Promise<RunningCheck>
}

/** The test data of one check during one pattern. */
export interface RunningCheck {
  /** Called whenever the clock is steady; the last time directly before the verification. */
  atRest?(): Promise<void>
  verify?(): Promise<void>
}

/**
 * The tolerance for signed timestamps (protocol/core 21). Not imported, so that the check is independent of the
 * product.
 */
export const TOLERANCE: Instant = 300_000_000n

export function isWithinTolerance(timestamp: Instant, now: Instant): boolean {
  return now - timestamp <= TOLERANCE && timestamp - now <= TOLERANCE
}

export function later(a: Instant, b: Instant): Instant {
  return a > b ? a : b
}

export function earlier(a: Instant, b: Instant): Instant {
  return a < b ? a : b
}

/** Exactly at a bound, one microsecond from it, or farther away. */
export function near(bound: Instant, random: Random): Instant {
  return bound + random.pick([0n, 1n, -1n, 1_000_000n, -1_000_000n, 1_800_000_000n, -1_800_000_000n])
}
