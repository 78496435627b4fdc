import type { EvidenceParts } from './parts.ts'
import { findExecutorKeys } from './queries/lookups.ts'

const MAX_KEYS = 1000

/**
 * Caches public keys by their id, so that a signature can be verified before the chain is locked without a database
 * read each time. The cache alone admits nothing: under the lock the key is read again and compared.
 */
export class ExecutorKeyCache {
  readonly #keys = new Map<string, string>()

  async find(parts: EvidenceParts, key_id: string): Promise<string | undefined> {
    const known = this.#keys.get(key_id)
    if (known !== undefined) return known
    const [row] = await findExecutorKeys(parts.database, parts.database.read, [key_id])
    if (row === undefined) return undefined
    if (this.#keys.size >= MAX_KEYS) this.#keys.clear()
    this.#keys.set(key_id, row.public_key)
    return row.public_key
  }
}
