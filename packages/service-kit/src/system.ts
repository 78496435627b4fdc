import { randomBytes, randomUUID } from 'node:crypto'
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

/** New random values. Injected, so that a test can choose them. */
export interface Ids {
  /** A random UUID in lower case. */
  uuid(): string
  /** 32 random bytes as base64url without padding. 256 bits cannot be guessed, so attempts need no limit. */
  token(): string
  /** That many random lower-case hex digits. */
  hex(digits: number): string
}

export const systemIds: Ids = {
  uuid: () => randomUUID(),
  token: () => randomBytes(32).toString('base64url'),
  hex: (digits) => {
    if (!Number.isInteger(digits) || digits < 1) throw new RangeError('a positive number of digits is needed')
    return randomBytes(Math.ceil(digits / 2))
      .toString('hex')
      .slice(0, digits)
  },
}
