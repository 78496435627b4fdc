import { Refusal } from '@chancery/contract'
import type { Transaction } from '../../database/database.ts'
import type { RevocationFeedsParts } from './peers.ts'
import { countImportedIds, countStoredIds } from './queries/imported.ts'

/** Maximum number of stored ids of one issuer, and of all. */
const MAX_ISSUER_IDS = 2_000_000
const MAX_ALL_IDS = 10_000_000

/** An issuer up to this size is accepted even when others used up the maximum of all. */
const SMALL_ISSUER_IDS = 10_000

export interface ImportCapacity {
  /** New ids of this import up to now. */
  readonly added: number
  add(count: number): void
  /** Refuses ids that are above a maximum. Ids that are stored already use nothing. */
  require(ids: readonly string[]): Promise<void>
}

/** Counts the ids of an issuer during one import. Nothing is written for ids that are refused. */
export async function openCapacity(
  tx: Transaction,
  parts: Pick<RevocationFeedsParts, 'log'>,
  issuer: string,
): Promise<ImportCapacity> {
  const before = await countImportedIds(tx.query, issuer)
  let added = 0
  const isAbove = (more: number): boolean => {
    const ids = before.issuer + added + more
    return ids > MAX_ISSUER_IDS || (ids > SMALL_ISSUER_IDS && before.all + added + more > MAX_ALL_IDS)
  }
  return {
    get added() {
      return added
    },
    add(count) {
      added += count
    },
    async require(ids) {
      if (!isAbove(ids.length)) return
      const more = ids.length - (await countStoredIds(tx.query, issuer, ids))
      if (more === 0 || !isAbove(more)) return
      // Refused as a whole: a dropped revocation would make its attestation count again.
      parts.log.error('too many imported revocations', { alarm: true, issuer_sovereign_id: issuer, ids: before.issuer })
      throw new Refusal('import_capacity', { issuer_sovereign_id: issuer })
    },
  }
}
