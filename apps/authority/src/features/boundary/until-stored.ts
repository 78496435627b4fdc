import { Refusal } from '@chancery/contract'
import { BasisChangedError } from '../evidence/index.ts'

/**
 * Each repetition needs another change in the milliseconds between reading the basis and storing the decision. While many
 * callers revoke without a pause, about every fourth attempt meets one.
 */
const MAX_TRIES = 12

/**
 * Decides and stores. When something that the decision may be based on was changed or revoked meanwhile, everything is
 * read again: the response is never an ALLOW that a stored revocation denies.
 */
export async function untilStored<Read, Result>(
  first: Read,
  readAgain: () => Promise<Read>,
  decide: (read: Read) => Promise<Result>,
): Promise<Result> {
  let read = first
  for (let tries = 1; ; tries += 1) {
    try {
      return await decide(read)
    } catch (error) {
      if (!(error instanceof BasisChangedError)) throw error
      if (tries === MAX_TRIES) throw new Refusal('service_unavailable', { reason: 'basis_changed' }, { cause: error })
      read = await readAgain()
    }
  }
}
