import type { Instant } from '@chancery/protocol'

/** Milliseconds are all the platform has; an instant counts microseconds. */
export function systemClock(): Instant {
  return BigInt(Math.floor(Date.now())) * 1000n
}
