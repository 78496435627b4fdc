import { CLOCK_TOLERANCE, type Instant } from '@chancery/protocol'
import type { Clock, Log } from '@chancery/service-kit'

interface Parts {
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
}
/** The sequences of signed records in which no record is dated before its predecessor. */
export type DatedSequence = 'crl' | 'policy' | 'feed' | 'evidence' | 'evidence-anchors'

/**
 * Dates the next record of a sequence: now, and never before its predecessor, even when a clock was set back
 * (reliability 8). The record is published in any case, and an alarm reports a predecessor dated in the future.
 */
export function dateAfter(
  parts: Parts,
  head: DatedSequence,
  previous: Instant | undefined,
  now: Instant = parts.clock.now(),
): Instant {
  if (previous === undefined || previous <= now) return now
  if (isInFuture(previous, now)) reportInFuture(parts, head, previous)
  return previous
}

/** Further ahead than clocks may differ: dated by a wrong clock. */
export function isInFuture(previous: Instant, now: Instant): boolean {
  return previous - now > CLOCK_TOLERANCE
}

/** Verifiers refuse this record and all later ones, so it is logged as an alarm. */
export function reportInFuture({ clock, log }: Parts, head: DatedSequence, previous: Instant): void {
  const ahead_seconds = Number((previous - clock.now()) / 1_000_000n)
  log.error('latest record is dated in the future', { alarm: true, head, ahead_seconds })
}
