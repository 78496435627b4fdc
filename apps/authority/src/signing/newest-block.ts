import { genesisDigest, instantOf, readJson, readKeyHistory } from '@chancery/protocol'
import type { Database, Reader } from '../database/database.ts'
import { translateDatabaseError } from '../database/open.ts'
import type { Identity } from './own-keys.ts'

/** A succession as stored: `announced` and `switched` are in progress, `retired` is complete. */
export interface StoredSuccession {
  readonly key_id: string
  readonly genesis_digest: string
  readonly genesis_json: string
  readonly history_json: string
  readonly first_list_json: string | null
  readonly phase: string
  readonly announced_at: string
  readonly switched_at: string | null
  readonly switch_stage: string | null
  readonly first_list_at: string | null
}

export function findSuccession(db: Reader): Promise<StoredSuccession | undefined> {
  return db.selectFrom('key_succession').selectAll().where('id', '=', 1).executeTakeFirst()
}

/** Changes after every step of a succession. */
async function findVersion(db: Reader): Promise<string> {
  const row = await db
    .selectFrom('key_succession')
    .select(['genesis_digest', 'phase', 'announced_at', 'first_list_at'])
    .where('id', '=', 1)
    .executeTakeFirst()
  return row === undefined ? '' : `${row.genesis_digest} ${row.phase} ${row.announced_at} ${row.first_list_at}`
}

/** The newest block of the root and its key history, for followers. */
export interface NewestBlock {
  readonly phase: 'announced' | 'settled'
  readonly keyId: string
  readonly digest: string
  readonly genesisText: string
  readonly historyText: string
  readonly firstListText: string | null
}

/** How long an instance may lack an announcement. Every heartbeat needs it, so not each may read the database. */
export const CACHED_MS = 2000

interface Parts {
  readonly database: Pick<Database, 'read'>
  readonly identity: Pick<Identity, 'network' | 'signer' | 'keys'>
}

/** The block for followers: the announced one, otherwise the own one if there was a succession. */
export class NewestBlocks {
  readonly #parts: Parts
  #own: { readonly text: string; readonly block: NewestBlock; readonly issuedAt: bigint } | undefined
  #read: Promise<NewestBlock | undefined> | undefined
  #readAt = 0
  /** The last read value, for when the database is unavailable. */
  #last: { readonly block: NewestBlock | undefined; readonly version: string } | undefined

  constructor(parts: Parts) {
    this.#parts = parts
  }

  async digest(): Promise<string | undefined> {
    return (await this.read())?.digest
  }

  /** Undefined when there never was a succession. */
  read(): Promise<NewestBlock | undefined> {
    const now = performance.now()
    if (this.#read === undefined || now - this.#readAt > CACHED_MS) {
      this.#readAt = now
      this.#read = this.#load().catch((error: unknown) => {
        this.#read = undefined
        throw error
      })
    }
    return this.#read
  }

  /** The last read value, of the start at least. It is used while the database is unavailable: the root signed it. */
  async readOrLast(): Promise<NewestBlock | undefined> {
    try {
      return await this.read()
    } catch (error) {
      if (this.#last === undefined || translateDatabaseError(error) === undefined) throw error
      return this.#last.block
    }
  }

  /** The next reader reads the database. */
  clear(): void {
    this.#read = undefined
  }

  /** Read again only when it changed: the first list may have megabytes, and every heartbeat needs it. */
  async #load(): Promise<NewestBlock | undefined> {
    const db = this.#parts.database.read
    const version = `${await findVersion(db)} ${genesisDigest(this.#parts.identity.network.genesis)}`
    if (this.#last?.version === version) return this.#last.block
    const block = this.#choose(await findSuccession(db))
    this.#last = { block, version }
    return block
  }

  #choose(stored: StoredSuccession | undefined): NewestBlock | undefined {
    const own = this.#readOwn()
    if (stored === undefined || stored.phase === 'retired') return own?.block
    const isOwn = stored.genesis_digest === genesisDigest(this.#parts.identity.network.genesis)
    // The settings may name a block that was signed after the stored one. Followers never go back.
    if (isOwn || issuedAt(stored.history_json) < (own?.issuedAt ?? 0n)) return own?.block
    return {
      phase: 'announced',
      keyId: stored.key_id,
      digest: stored.genesis_digest,
      genesisText: stored.genesis_json,
      historyText: stored.history_json,
      firstListText: stored.first_list_json,
    }
  }

  /** The block of this authority and its history. Built once for each, because it is served with every heartbeat. */
  #readOwn(): { readonly block: NewestBlock; readonly issuedAt: bigint } | undefined {
    const { network, signer, keys } = this.#parts.identity
    const { historyText } = keys
    if (historyText === undefined) return undefined
    if (this.#own?.text !== historyText)
      this.#own = {
        text: historyText,
        issuedAt: issuedAt(historyText),
        block: {
          phase: 'settled',
          keyId: signer.keyId,
          digest: genesisDigest(network.genesis),
          genesisText: network.genesisText,
          historyText,
          firstListText: null,
        },
      }
    return this.#own
  }
}

function issuedAt(historyText: string): bigint {
  return instantOf(readKeyHistory(readJson(historyText)).issued_at)
}
