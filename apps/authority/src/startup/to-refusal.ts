import { Refusal } from '@chancery/contract'
import { TooManyChecksError } from '@chancery/protocol'
import { BatchClosedError, BatchFullError, LimiterUnavailableError } from '@chancery/service-kit'
import { UnknownOutcomeError } from '../database/errors.ts'
import { translateDatabaseError } from '../database/open.ts'

/**
 * Converts internal errors to refusals. An unknown outcome of a COMMIT is reported, so that the caller checks before a
 * retry.
 */
export function toRefusal(error: unknown): Refusal | undefined {
  if (error instanceof UnknownOutcomeError)
    return new Refusal('service_unavailable', { reason: 'database_unavailable', outcome: 'unknown' }, { cause: error })
  // There is no verdict. The response has the reason, so that a record that was not verified in full is not called
  // forged.
  if (error instanceof TooManyChecksError) return new Refusal('too_many_verifications', {}, { cause: error })
  if (error instanceof LimiterUnavailableError) return away('rate_limiter_unavailable', error)
  if (error instanceof BatchFullError || error instanceof BatchClosedError) return away('overloaded', error)
  const cause = translateDatabaseError(error)
  return cause === undefined ? undefined : away('database_unavailable', cause)
}

/** With the names of the readiness document. */
function away(reason: string, cause: unknown): Refusal {
  return new Refusal('service_unavailable', { reason }, { cause })
}
