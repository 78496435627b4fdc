import { CLOCK_TOLERANCE } from '@chancery/protocol'
import type { Instant } from '@chancery/protocol'
import type { Office } from '../office.ts'

type Parts = Pick<Office, 'clock' | 'log'>
/** The lines of signed papers in which none is dated before the one before it. */
export type DatedLine = 'crl' | 'policy' | 'feed' | 'evidence' | 'evidence-anchors'

/**
 * How the next of a line of signed papers is dated: now, and never before its predecessor, even when a clock was set
 * back (reliability 8). What is to be published is published all the same, and an alarm says what it follows.
 */
export function dateAfter(
  office: Parts,
  head: DatedLine,
  previous: Instant | undefined,
  now: Instant = office.clock.now(),
): Instant {
  if (previous === undefined || previous <= now) return now
  if (isFarAhead(previous, now)) tellFarAhead(office, head, previous)
  return previous
}

/** Further than clocks may differ: dated by a wrong clock. */
export function isFarAhead(previous: Instant, now: Instant): boolean {
  return previous - now > CLOCK_TOLERANCE
}

/** Verifiers refuse such a paper and all that must follow it: somebody has to know. */
export function tellFarAhead({ clock, log }: Parts, head: DatedLine, previous: Instant): void {
  const ahead_seconds = Number((previous - clock.now()) / 1_000_000n)
  log.error('the last of its line was dated by a clock that was ahead', { alarm: true, head, ahead_seconds })
}
