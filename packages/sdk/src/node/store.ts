import { fromUtf8, joinBytes, seedSigner, toBase64 } from '@chancery/protocol'
import type { Signer } from '@chancery/protocol'

/** What a node stores in addition to its key. `join` is the note of a used invite, see JoinNote; `keys` the
 * newest block of the root, see FollowedKeys. */
export type NodeDocument = 'certificate' | 'crl' | 'policy' | 'join' | 'keys'

/** Where a node keeps itself, so that it is the same node after a restart. */
export interface NodeStore {
  /** Returns the key of this node: made and stored at the first call. */
  signer(): Promise<Signer>
  /** Returns the stored text of a name, or undefined. */
  read(document: NodeDocument): Promise<string | undefined>
  /** Whole or not at all, and on stable storage when it resolves. */
  write(document: NodeDocument, text: string): Promise<void>
  /** As {@link read}, in UTF-8. With {@link writeBytes} it spares a list of many megabytes the way over a text. */
  readBytes?(document: NodeDocument): Promise<Uint8Array | undefined>
  /** As {@link write}, in UTF-8: the pieces follow each other. {@link read} gives the same document as a text. */
  writeBytes?(document: NodeDocument, pieces: readonly Uint8Array[]): Promise<void>
}

/** Stores in memory only, for tests and for nodes that join again at each start. */
export class MemoryNodeStore implements NodeStore {
  readonly #documents = new Map<NodeDocument, string | Uint8Array>()
  #signer: Promise<Signer> | undefined

  /** A key that lives elsewhere, such as in a hardware module, may be brought. */
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
