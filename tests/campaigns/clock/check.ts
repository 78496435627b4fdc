import type { Instant } from '@chancery/protocol'
import type { Stage } from './setup.ts'
import type { Random } from '../lib/random.ts'

/** Says what a rule expects, worked out from the rule and the clock alone, beside what the authority did. */
export type Compare = (what: string, expected: Outcome, got: Outcome) => void
export type Outcome = string | number | boolean

/** One rule of the protocol in which time decides. */
export interface Check {
  readonly name: string
  /** Makes its facts at the moment `stage.made`. */
  prepare(stage: Stage, compare: Compare): Promise<Trial>
}

/** The facts of one check on their way through one pattern. */
export interface Trial {
  /** The clock has come to rest once more; the last time right before the judgement. */
  atRest?(): Promise<void>
  judge?(): Promise<void>
}

/** The tolerance for signed timestamps (protocol/core 21), written down a second time on purpose. */
export const TOLERANCE: Instant = 300_000_000n

export function isWithinTolerance(stamp: Instant, now: Instant): boolean {
  return now - stamp <= TOLERANCE && stamp - now <= TOLERANCE
}

export function later(a: Instant, b: Instant): Instant {
  return a > b ? a : b
}

export function earlier(a: Instant, b: Instant): Instant {
  return a < b ? a : b
}

/** Right at a bound, one microsecond beside it, or farther off. */
export function near(bound: Instant, random: Random): Instant {
  return bound + random.pick([0n, 1n, -1n, 1_000_000n, -1_000_000n, 1_800_000_000n, -1_800_000_000n])
}
