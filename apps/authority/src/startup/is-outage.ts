import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import { UnknownOutcomeError } from '../database/errors.ts'
import { translateDatabaseError } from '../database/open.ts'
import type { Signing } from '../signing/sign-record.ts'

interface OutageParts {
  readonly signing: Pick<Signing, 'isAllowed'>
  readonly databaseProbe: { read(): Promise<{ readonly database: JsonObject }> }
}

/**
 * Whether a job failed because the database or the key is away, which readiness reports. A job may also fail while the
 * database answers others, such as by a statement that takes too long: that is its own failure.
 */
export async function isOutage(failure: Error, { signing, databaseProbe }: OutageParts): Promise<boolean> {
  if (failure instanceof Refusal && failure.code === 'signing_unavailable') return !signing.isAllowed()
  if (translateDatabaseError(failure) === undefined && !(failure instanceof UnknownOutcomeError)) return false
  return (await databaseProbe.read()).database['writable'] !== true
}
