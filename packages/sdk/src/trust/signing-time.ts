import { type Instant, InstantError, requireInstant } from '@chancery/protocol'
import { RequestError } from '../errors.ts'
import { systemClock } from '../http/system-clock.ts'

/** The time to verify at: the one given, else the clock. Throws RequestError on one of another unit. */
export function signingTimeOf(given: Instant | null | undefined): Instant {
  if (given === undefined || given === null) return systemClock()
  try {
    return requireInstant(given)
  } catch (error) {
    if (error instanceof InstantError) throw new RequestError(error.message)
    throw error
  }
}
