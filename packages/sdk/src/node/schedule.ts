import { HOUR, type Instant, type JoinCertificate, SECOND, instantOf } from '@chancery/protocol'
import { UsageError } from '../errors.ts'

/** When a node does what, as pure functions; `random` is from 0 up to 1. */

export interface Lifetime {
  readonly issuedAt: Instant
  readonly expiresAt: Instant
}

/** A renewal this long before the end, or later, lists nothing: see protocol/core 9.2. */
export const RENEW_BEFORE_HOURS = 24
const LONGEST_SPREAD: Instant = 2n * HOUR

/**
 * From when on a certificate should be renewed: two thirds of its life or so many hours before its end, whichever is
 * later.
 */
export function renewalDue({ issuedAt, expiresAt }: Lifetime, renewBeforeHours: number = RENEW_BEFORE_HOURS): Instant {
  const twoThirds = issuedAt + ((expiresAt - issuedAt) * 2n) / 3n
  const lastCall = expiresAt - BigInt(renewBeforeHours) * HOUR
  return twoThirds > lastCall ? twoThirds : lastCall
}

/** When this node renews: spread by up to 2 h or a tenth of the life, so that a fleet does not come at once. */
export function renewalTime(lifetime: Lifetime, random: number, renewBeforeHours?: number): Instant {
  const tenth = (lifetime.expiresAt - lifetime.issuedAt) / 10n
  const spread = tenth < LONGEST_SPREAD ? tenth : LONGEST_SPREAD
  return renewalDue(lifetime, renewBeforeHours) + BigInt(Math.floor(Number(spread) * random))
}

const FIRST_RETRY_SECONDS = 5
const LONGEST_RETRY_SECONDS = 60

/**
 * How long to wait after the n-th failure in a row, counted from 1. It stays short: a renewal whose answer was lost can
 * only be repeated within the grace time of the old certificate. The lower half is fixed, so that retries never rush.
 */
export function retrySeconds(failures: number, random: number): number {
  const longest = Math.min(FIRST_RETRY_SECONDS * 2 ** Math.min(failures - 1, 10), LONGEST_RETRY_SECONDS)
  return longest / 2 + (longest / 2) * random
}

const USUAL_PACE_SECONDS = 60
const FASTEST_PACE_SECONDS = 5
const SLOWEST_PACE_SECONDS = 900

/** The pace the authority asked for, within reason: it is not signed, and must not stop or rush a node. */
export function paceSeconds(asked: number | undefined): number {
  return Math.min(Math.max(asked ?? USUAL_PACE_SECONDS, FASTEST_PACE_SECONDS), SLOWEST_PACE_SECONDS)
}

/** Returns true at or after the time, and when the time is further ahead than ever set: then the clock moved back. */
export function isDue(at: Instant, now: Instant, longestSeconds: number = SLOWEST_PACE_SECONDS): boolean {
  return now >= at || at - now > BigInt(longestSeconds) * SECOND
}

/** Returns the time until the next registration: half the lifetime, a tenth earlier or later. */
export function refreshSeconds(lifetimeSeconds: number, random: number): number {
  return lifetimeSeconds * (0.45 + 0.1 * random)
}

export function after(now: Instant, seconds: number): Instant {
  return now + BigInt(Math.ceil(seconds * 1_000_000))
}

const LONGEST_SLEEP_MS = 30_000

/** Returns the milliseconds until the first of these times; at most 30 s, so that a suspended machine detects the gap. */
export function sleepMs(now: Instant, ...times: readonly Instant[]): number {
  const waits = times.map((at) => Number(at - now) / 1000)
  return Math.min(LONGEST_SLEEP_MS, Math.max(0, ...(waits.length === 0 ? [] : [Math.min(...waits)])))
}

/** For how long a certificate was made, in whole hours: a renewal asks for the same again. */
export function lifetimeHours({ issued_at, expires_at }: Pick<JoinCertificate, 'issued_at' | 'expires_at'>): number {
  const lifetime = instantOf(expires_at) - instantOf(issued_at)
  return Math.max(1, Number((lifetime + HOUR / 2n) / HOUR))
}

export function readRenewHours(hours: number = RENEW_BEFORE_HOURS): number {
  if (!Number.isInteger(hours) || hours < 1 || hours > 720)
    throw new UsageError('renewBeforeHours must be a whole number from 1 to 720')
  return hours
}
