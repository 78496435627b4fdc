import { Refusal } from '@chancery/contract'
import type { Instant } from '@chancery/protocol'
import { Batcher } from '@chancery/service-kit'
import type { CrlState } from './state.ts'
import { LockTimeoutError } from '../../database/database.ts'
import { translateDatabaseError } from '../../database/open.ts'
import { revokeBatch } from './revocation.ts'
import type { CrlVersion } from './queries.ts'
import type { Revocation, RevocationOutcome } from './revocation.ts'

/** The entries of one version, spelled and joined. */
export interface ListEntries {
  readonly sequence: number
  readonly issuedAt: Instant
  readonly text: string
  readonly count: number
}

/**
 * Certificates of one run, as many as one request may name: PostgreSQL has a table of locks for all transactions
 * together, and a run locks the key of each.
 */
const MAX_CERTIFICATES = 1000

/** Where revocations wait: those that arrive while a list is built share the next version. */
export class RevocationBatch {
  #kept: ListEntries | undefined
  #revocations: Batcher<Revocation, RevocationOutcome> | undefined

  /**
   * The entries of exactly this version, when this process published it. A failover may have lost that one and given
   * its number to another, so time and count must agree, too.
   */
  remembered(version: CrlVersion | undefined): ListEntries | undefined {
    const kept = this.#kept
    const isSame =
      kept?.sequence === version?.sequence && kept?.issuedAt === version?.issuedAt && kept?.count === version?.entries
    return isSame ? kept : undefined
  }

  /** Called after COMMIT only: a version that was rolled back never existed. */
  remember(kept: ListEntries): void {
    this.#kept = kept
  }

  async revoke(parts: CrlState, revocation: Revocation): Promise<RevocationOutcome> {
    this.#revocations ??= new Batcher((items) => revokeBatch(parts, items), {
      maxItems: 200,
      maxWaiting: 1000,
      maxWeight: MAX_CERTIFICATES,
      weigh: ({ cert_ids }) => cert_ids.length,
    })
    try {
      return await this.#revocations.add(revocation)
    } catch (error) {
      const isLocked = translateDatabaseError(error) instanceof LockTimeoutError
      throw isLocked ? new Refusal('crl_publish_contention', {}, { cause: error }) : error
    }
  }

  async close(): Promise<void> {
    await this.#revocations?.close()
  }
}
