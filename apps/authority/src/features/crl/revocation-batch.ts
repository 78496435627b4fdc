import { Refusal } from '@chancery/contract'
import { Batcher } from '@chancery/service-kit'
import type { CrlState } from './state.ts'
import { LockTimeoutError } from '../../database/errors.ts'
import { translateDatabaseError } from '../../database/open.ts'
import { type Revocation, type RevocationOutcome, revokeBatch } from './revocation.ts'

/**
 * Maximum number of certificates in one batch, equal to that of one request. PostgreSQL has one lock table for all
 * transactions, and a batch locks the key of each certificate.
 */
const MAX_CERTIFICATES = 1000

/** Queue of revocations. Those that arrive while a list is built share the next version. */
export class RevocationBatch {
  readonly #revocations: Batcher<Revocation, RevocationOutcome>

  constructor(parts: CrlState) {
    this.#revocations = new Batcher((items) => revokeBatch(parts, items), {
      maxItems: 200,
      maxWaiting: 1000,
      maxWeight: MAX_CERTIFICATES,
      weigh: ({ cert_ids }) => cert_ids.length,
    })
  }

  async revoke(revocation: Revocation): Promise<RevocationOutcome> {
    try {
      return await this.#revocations.add(revocation)
    } catch (error) {
      const isLocked = translateDatabaseError(error) instanceof LockTimeoutError
      throw isLocked ? new Refusal('crl_publish_contention', {}, { cause: error }) : error
    }
  }

  async close(): Promise<void> {
    await this.#revocations.close()
  }
}
