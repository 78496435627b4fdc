import { CLOCK_TOLERANCE } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Clock, Log } from '@chancery/service-kit'

interface Parts {
  readonly clock: Pick<Clock, 'now'>
  readonly log: Log
}
/** The lines of signed papers in which none is dated before the one before it. */
export type DatedSequence = 'crl' | 'policy' | 'feed' | 'evidence' | 'evidence-anchors'

/**
 * How the next of a line of signed papers is dated: now, and never before its predecessor, even when a clock was set
 * back (reliability 8). What is to be published is published all the same, and an alarm says what it follows.
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

/** Further than clocks may differ: dated by a wrong clock. */
export function isInFuture(previous: Instant, now: Instant): boolean {
  return previous - now > CLOCK_TOLERANCE
}

/** Verifiers refuse such a paper and all that must follow it: somebody has to know. */
export function reportInFuture({ clock, log }: Parts, head: DatedSequence, previous: Instant): void {
  const ahead_seconds = Number((previous - clock.now()) / 1_000_000n)
  log.error('the last of its line was dated by a clock that was ahead', { alarm: true, head, ahead_seconds })
}
