import { type Instant, seconds } from '@chancery/protocol'
import type { Clock } from '@chancery/service-kit'

/** A wall clock that moved further than this against the monotonic one was set, not corrected (reliability 8). */
export const MAX_CLOCK_JUMP = seconds(5)

export function monotonicInstant(clock: Clock): Instant {
  return BigInt(Math.round(clock.monotonicMs() * 1000))
}

/** Wall clock minus monotonic clock. Only a jump changes it. */
export function wallMinusMonotonic(clock: Clock): Instant {
  return clock.now() - monotonicInstant(clock)
}

export function magnitude(value: Instant): Instant {
  return value < 0n ? -value : value
}
