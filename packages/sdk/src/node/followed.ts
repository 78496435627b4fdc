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

/** Where followed keys are kept; of a node's store only this is needed. */
export type KeyStore = Pick<NodeStore, 'read' | 'write'>

/** What came of asking for a newer block. */
export type Followed = 'changed' | 'unchanged' | FollowRefusal

/**
 * The keys of the authority as its root vouches for them, followed over successions. The block the node was started
 * with is the pin: only what its root key signed takes its place, and never anything older than what is held.
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
   * Goes on where an earlier run ended. What is kept counts only as far as the pinned root signed it. Throws
   * RequestError for a history that does not belong to the block.
   */
  static async open(pinned: GenesisBlock, store: KeyStore, history?: KeyHistory): Promise<FollowedKeys> {
    const given = { genesis: pinned, ...(history === undefined ? {} : { history }) }
    if (history !== undefined) {
      const verdict = await verifyKeyHistory(history, pinned)
      if (!verdict.ok) throw new RequestError(`the key history does not belong to the genesis block: ${verdict.reason}`)
    }
    const first = pinned.network_authority.public_key
    const kept = readKept(await store.read('keys').catch(() => undefined))
    if (kept === undefined) return new FollowedKeys(store, given, first)
    const { audience, ...keys } = kept
    const isNewest = (await verifySuccession(given, keys)).ok
    // A person may have put the newest block in place by hand; the kept history may still belong to it.
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

  /** Proofs are made for this key from now on; one that the root does not vouch for is not taken. */
  address(key: string): void {
    if (allAuthorityKeys(this.#keys).includes(key)) this.#audience = key
  }

  /** Keeps the audience, so that a restart begins with it. */
  async keep(): Promise<void> {
    const { genesis, history } = this.#keys
    if (history === undefined) return
    await this.#store.write('keys', writeJson({ genesis, key_history: history, audience: this.#audience }))
  }

  /** Asks for the newest block and takes it up when the root signed it. Kept before it is used. */
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
    const isNew = genesisDigest(next.genesis) !== this.digest || this.#keys.history === undefined
    const before = this.#audience
    const changed = new FollowedKeys(this.#store, next, before)
    changed.address(offered.current_public_key)
    if (!isNew && changed.#audience === before) return 'unchanged'
    await changed.keep()
    this.#keys = next
    this.#audience = changed.#audience
    return 'changed'
  }
}

interface Kept extends AuthorityKeys {
  readonly history: KeyHistory
  readonly audience: string
}

/** A damaged copy is as good as none: the authority gives it again. */
function readKept(text: string | undefined): Kept | undefined {
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
