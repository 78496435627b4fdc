import { StartError } from '@chancery/service-kit'
import { readFile } from 'node:fs/promises'
import {
  FormError,
  JsonError,
  readInstant,
  readJsonBytes,
  readKeyHistory,
  verifyKeyHistory,
  wasCurrent,
} from '@chancery/protocol'
import type { FormerKey, GenesisBlock, KeyHistory, Signer } from '@chancery/protocol'

/** The authority's own key. Providers differ only in where the private key is. None of them returns it. */
export interface AuthoritySigner extends Signer {
  readonly provider: 'file' | 'env' | 'pkcs11' | 'vault' | 'gcp-kms'
  /** Gives back what is held to sign, for a key that is not used. */
  close?(): void
  /** Signs the first bytes of a buffer in a thread. The buffer is moved there and back; the given one is empty then. */
  signMoved?(
    bytes: Uint8Array<ArrayBuffer>,
    length: number,
  ): Promise<{ readonly bytes: Uint8Array<ArrayBuffer>; readonly sig: Uint8Array }>
}

/** All keys of this authority: the current one, and the former ones that the root signed (decision 0006). */
export interface OwnKeys {
  readonly current: string
  readonly former: readonly FormerKey[]
  /** All of them, the current one first. */
  readonly all: readonly string[]
  /**
   * The keys that callers may sign for: the current one, and the former one while it still signs its own list. Every
   * other key would cost one more signature check for each bad request.
   */
  readonly audiences: readonly string[]
  /** The history as it was signed, to be served. */
  readonly historyText: string | undefined
  /** Signs the list of the last former key, and nothing else. */
  readonly formerSigner: Signer | undefined
}

export async function loadOwnKeys(
  historyFile: string | undefined,
  genesis: GenesisBlock,
  current: Pick<Signer, 'keyId' | 'publicKey'>,
  formerSigner: Signer | undefined,
): Promise<OwnKeys> {
  const loaded = historyFile === undefined ? undefined : await loadHistory(historyFile, genesis)
  return ownKeysOf(loaded, current, formerSigner)
}

interface SignedHistory {
  readonly history: KeyHistory
  readonly text: string
}

/** The keys by a verified history. */
export function ownKeysOf(
  loaded: SignedHistory | undefined,
  current: Pick<Signer, 'keyId' | 'publicKey'>,
  formerSigner: Signer | undefined,
): OwnKeys {
  // After an undone succession the history also has the earlier period of the current key.
  const former = (loaded?.history.former_keys ?? []).filter((key) => key.public_key !== current.publicKey)
  if (former.some((key) => key.key_id === current.keyId))
    throw new StartError(`NA_KEY_ID: ${current.keyId} was the id of a former key; give the new one another`)
  const known = former.find((key) => key.public_key === formerSigner?.publicKey)
  if (formerSigner !== undefined && known === undefined)
    throw new StartError('NA_FORMER_PRIVATE_KEY_FILE: the key is not in the key history')
  return {
    current: current.publicKey,
    former,
    all: [current.publicKey, ...former.map((key) => key.public_key)],
    audiences: [current.publicKey, ...(formerSigner === undefined ? [] : [formerSigner.publicKey])],
    historyText: loaded?.text,
    formerSigner: formerSigner === undefined ? undefined : { ...formerSigner, keyId: known?.key_id ?? '' },
  }
}

/** The keys that may have signed a record of this date. Only the current one when the date cannot be read. */
export function ownKeysAt({ current, former }: OwnKeys, issuedAt: unknown): readonly string[] {
  const at = typeof issuedAt === 'string' ? readInstant(issuedAt) : undefined
  if (at === undefined) return [current]
  return [current, ...former.filter((key) => wasCurrent(key, at)).map((key) => key.public_key)]
}

async function loadHistory(path: string, genesis: GenesisBlock): Promise<SignedHistory> {
  let bytes: Buffer
  try {
    bytes = await readFile(path)
  } catch (error) {
    throw new StartError(`NA_KEY_HISTORY_FILE: ${path} cannot be read`, { cause: error })
  }
  try {
    const history = readKeyHistory(readJsonBytes(bytes))
    const verdict = await verifyKeyHistory(history, genesis)
    if (verdict.ok) return { history, text: bytes.toString('utf8').trim() }
    throw new StartError(`NA_KEY_HISTORY_FILE: ${path} is refused: ${verdict.reason}`)
  } catch (error) {
    if (!(error instanceof FormError) && !(error instanceof JsonError)) throw error
    throw new StartError(`NA_KEY_HISTORY_FILE: ${path} is not a key history: ${error.message}`, { cause: error })
  }
}

export interface Network {
  readonly name: string
  readonly genesis: GenesisBlock
  readonly genesisText: string
}

/** Who this authority is: its block, the key that signs, and all keys it had. */
export interface Identity {
  readonly network: Network
  readonly signer: AuthoritySigner
  readonly keys: OwnKeys
}

/**
 * The identity of this process. A key succession replaces its three parts at once. A part with one of them reads the
 * present one: they are never copied when a feature is opened.
 */
export class LiveIdentity implements Identity {
  #now: Identity
  readonly network: Network
  readonly signer: AuthoritySigner
  readonly keys: OwnKeys

  constructor(first: Identity) {
    this.#now = first
    this.network = present(() => this.#now.network)
    this.signer = present(() => this.#now.signer)
    this.keys = present(() => this.#now.keys)
  }

  get now(): Identity {
    return this.#now
  }

  become(next: Identity): void {
    this.#now = next
  }
}

/** An object that reads each member from the present one. */
function present<Part extends object>(read: () => Part): Part {
  // The target is never used: every access that these parts have goes to the present object.
  return new Proxy({} as Part, {
    get: (_none, name) => Reflect.get(read(), name) as unknown,
    set: (_none, name, value) => Reflect.set(read(), name, value),
    defineProperty: (_none, name, descriptor) => Reflect.defineProperty(read(), name, descriptor),
    has: (_none, name) => Reflect.has(read(), name),
    ownKeys: () => Reflect.ownKeys(read()),
    getOwnPropertyDescriptor: (_none, name) => {
      const found = Reflect.getOwnPropertyDescriptor(read(), name)
      return found === undefined ? undefined : { ...found, configurable: true }
    },
  })
}
