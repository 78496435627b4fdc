import {
  allAuthorityKeys,
  authorityKeysAt,
  genesisDigest,
  isJsonObject,
  readGenesisBlock,
  readJson,
  readKeyHistory,
  verifyKeyHistory,
  verifySuccession,
  writeJson,
} from '@chancery/protocol'
import type { AuthorityKeys, FollowRefusal, GenesisBlock, KeyHistory } from '@chancery/protocol'
import type { Client } from '../client.ts'
import { RefusedError, RequestError } from '../errors.ts'
import type { NodeStore } from './store.ts'

/** Stores followed keys; the needed part of a node's store. */
export type KeyStore = Pick<NodeStore, 'read' | 'write'>

/** What came of asking for a newer block. */
export type Followed = 'changed' | 'unchanged' | FollowRefusal

/**
 * The keys of the authority as its root signed them, followed over successions. The first block of the node
 * is the pin: only a block of its root key replaces it, and never an older one.
 */
export class FollowedKeys {
  readonly #store: KeyStore
  #keys: AuthorityKeys
  #audience: string

  private constructor(store: KeyStore, keys: AuthorityKeys, audience: string) {
    this.#store = store
    this.#keys = keys
    this.#audience = audience
  }

  /**
   * Continues an earlier run. Stored keys count only when the pinned root signed them. Throws
   * RequestError for a history that does not belong to the block.
   */
  static async open(pinned: GenesisBlock, store: KeyStore, history?: KeyHistory): Promise<FollowedKeys> {
    const given = { genesis: pinned, ...(history === undefined ? {} : { history }) }
    if (history !== undefined) {
      const verdict = await verifyKeyHistory(history, pinned)
      if (!verdict.ok) throw new RequestError(`the key history does not belong to the genesis block: ${verdict.reason}`)
    }
    const first = pinned.network_authority.public_key
    const stored = readStored(await store.read('keys').catch(() => undefined))
    if (stored === undefined) return new FollowedKeys(store, given, first)
    const { audience, ...keys } = stored
    const isNewest = (await verifySuccession(given, keys)).ok
    // A person may have installed the newest block by hand; the stored history may still belong to it.
    const isSame = history === undefined && genesisDigest(pinned) === genesisDigest(keys.genesis)
    if (!isNewest && !(isSame && (await verifyKeyHistory(keys.history, pinned)).ok))
      return new FollowedKeys(store, given, first)
    const followed = new FollowedKeys(store, keys, keys.genesis.network_authority.public_key)
    followed.address(audience)
    return followed
  }

  get keys(): AuthorityKeys {
    return this.#keys
  }

  /** Of the block that is held. */
  get digest(): string {
    return genesisDigest(this.#keys.genesis)
  }

  /** The key the root names as the current one. */
  get current(): string {
    return this.#keys.genesis.network_authority.public_key
  }

  /** The key that signs now, as far as it is known: until the switch the one before the announced one. */
  get audience(): string {
    return this.#audience
  }

  at(date: string): readonly string[] {
    return authorityKeysAt(this.#keys, date)
  }

  /** Makes proofs for this key from now on; ignores a key that the root did not sign. */
  address(key: string): void {
    if (allAuthorityKeys(this.#keys).includes(key)) this.#audience = key
  }

  /** Keeps the audience, so that a restart begins with it. */
  async save(): Promise<void> {
    const { genesis, history } = this.#keys
    if (history === undefined) return
    await this.#store.write('keys', writeJson({ genesis, key_history: history, audience: this.#audience }))
  }

  /** Fetches the newest block and uses it when the root signed it. Stores it first. */
  async follow(client: Client, signal?: AbortSignal): Promise<Followed> {
    let offered: Awaited<ReturnType<Client['sovereign']['keySuccession']>>
    try {
      offered = await client.sovereign.keySuccession(signal === undefined ? {} : { signal })
    } catch (error) {
      // There never was a succession, or the authority is of a release without them.
      if (error instanceof RefusedError && error.status === 404) return 'unchanged'
      throw error
    }
    const next = { genesis: offered.genesis, history: offered.key_history }
    const verdict = await verifySuccession(this.#keys, next)
    if (!verdict.ok) return verdict.reason
    // The root may sign a newer history for the same block, for example to end the time of a former key earlier.
    const isNew =
      genesisDigest(next.genesis) !== this.digest || this.#keys.history?.issued_at !== next.history.issued_at
    const before = this.#audience
    const changed = new FollowedKeys(this.#store, next, before)
    changed.address(offered.current_public_key)
    if (!isNew && changed.#audience === before) return 'unchanged'
    await changed.save()
    this.#keys = next
    this.#audience = changed.#audience
    return 'changed'
  }
}

interface StoredRow extends AuthorityKeys {
  readonly history: KeyHistory
  readonly audience: string
}

/** A damaged copy is as good as none: the authority gives it again. */
function readStored(text: string | undefined): StoredRow | undefined {
  if (text === undefined) return undefined
  try {
    const value = readJson(text)
    if (!isJsonObject(value)) return undefined
    const { genesis, key_history, audience } = value
    const [block, history] = [readGenesisBlock(genesis ?? null), readKeyHistory(key_history ?? null)]
    return { genesis: block, history, audience: typeof audience === 'string' ? audience : '' }
  } catch {
    return undefined
  }
}
