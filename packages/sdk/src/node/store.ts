import { type Signer, fromUtf8, joinBytes, seedSigner, toBase64 } from '@chancery/protocol'

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
