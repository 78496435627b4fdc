import { type Instant, InstantError, requireInstant } from '@chancery/protocol'
import { UsageError } from '../errors.ts'
import { systemClock } from '../http/system-clock.ts'

/** A Date, or microseconds since 1970 as in signed records. */
export type Time = Date | Instant

/** The time to verify at: the one given, else the clock. Throws UsageError on one of another unit. */
export function timeOf(given: Time | null | undefined): Instant {
  if (given === undefined || given === null) return systemClock()
  try {
    return requireInstant(given instanceof Date ? BigInt(given.getTime()) * 1000n : given)
  } catch (error) {
    if (error instanceof InstantError || error instanceof RangeError) throw new UsageError(error.message)
    throw error
  }
}
