import {
  allAuthorityKeys,
  authorityKeysAt,
  fromUtf8,
  genesisDigest,
  isJsonObject,
  joinBytes,
  readGenesisBlock,
  readJson,
  readKeyHistory,
  seedSigner,
  toBase64,
  verifyKeyHistory,
  verifySuccession,
  writeJson,
} from '@chancery/protocol'
import type { AuthorityKeys, FollowRefusal, GenesisBlock, KeyHistory, Signer } from '@chancery/protocol'
import type { SovereignApi } from '../client.ts'
import { RefusedError, UsageError } from '../errors.ts'

/** What a node stores in addition to its key. `join` is the note of a used invite, see JoinNote; `keys` the
 * newest block of the root, see FollowedKeys; `positions` those of the newest lists, see FollowedParty. */
export type NodeDocument = 'certificate' | 'crl' | 'policy' | 'join' | 'keys' | 'positions'

/** Stores the identity of a node, so that it is the same node after a restart. */
export interface NodeStore {
  /** Returns the key of this node: made and stored at the first call. */
  signer(): Promise<Signer>
  /** Returns the stored text of a name, or undefined. */
  read(document: NodeDocument): Promise<string | undefined>
  /** Writes atomically; durable when it resolves. */
  write(document: NodeDocument, text: string): Promise<void>
  /**
   * Like {@link read}, in UTF-8. Together with {@link writeBytes} it avoids converting a list of many megabytes to
   * text.
   */
  readBytes?(document: NodeDocument): Promise<Uint8Array | undefined>
  /** Like {@link write}, in UTF-8, in pieces. {@link read} returns the same document as a text. */
  writeBytes?(document: NodeDocument, pieces: readonly Uint8Array[]): Promise<void>
}

/** Stores in memory only, for tests and for nodes that join again at each start. */
export class MemoryNodeStore implements NodeStore {
  readonly #documents = new Map<NodeDocument, string | Uint8Array>()
  #signer: Promise<Signer> | undefined

  /** For a key outside this process, such as in a hardware module. */
  constructor(signer?: Signer) {
    if (signer !== undefined) this.#signer = Promise.resolve(signer)
  }

  signer(): Promise<Signer> {
    return (this.#signer ??= seedSigner('node', toBase64(crypto.getRandomValues(new Uint8Array(32)))))
  }

  read(document: NodeDocument): Promise<string | undefined> {
    const stored = this.#documents.get(document)
    return Promise.resolve(typeof stored === 'object' ? fromUtf8(stored) : stored)
  }

  write(document: NodeDocument, text: string): Promise<void> {
    this.#documents.set(document, text)
    return Promise.resolve()
  }

  writeBytes(document: NodeDocument, pieces: readonly Uint8Array[]): Promise<void> {
    this.#documents.set(document, joinBytes(pieces))
    return Promise.resolve()
  }
}

/** Where newer keys come from. */
export interface KeySource {
  readonly sovereign: Pick<SovereignApi, 'keySuccession'>
}

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
   * UsageError for a history that does not belong to the block.
   */
  static async open(pinned: GenesisBlock, store: KeyStore, history?: KeyHistory): Promise<FollowedKeys> {
    const given = { genesis: pinned, ...(history === undefined ? {} : { history }) }
    if (history !== undefined) {
      const verdict = await verifyKeyHistory(history, pinned)
      if (!verdict.ok) throw new UsageError(`the key history does not belong to the genesis block: ${verdict.reason}`)
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
  async follow(client: KeySource, signal?: AbortSignal): Promise<Followed> {
    let offered: Awaited<ReturnType<SovereignApi['keySuccession']>>
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
