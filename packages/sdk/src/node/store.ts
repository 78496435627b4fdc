import { seedSigner, toBase64 } from '@chancery/protocol'
import type { Signer } from '@chancery/protocol'

/** What a node keeps beside its key. `join` is the note of an invite that was used, see JoinNote; `keys` the
 * newest block of the root, see FollowedKeys. */
export type NodeDocument = 'certificate' | 'crl' | 'policy' | 'join' | 'keys'

/** Where a node keeps itself, so that it is the same node after a restart. */
export interface NodeStore {
  /** The key of this node: made and kept at the first call, the same ever after. */
  signer(): Promise<Signer>
  /** The text kept under a name; undefined when there is none. */
  read(document: NodeDocument): Promise<string | undefined>
  /** Whole or not at all, and on stable storage when it resolves. */
  write(document: NodeDocument, text: string): Promise<void>
}

/** For tests and for nodes that join anew each time: it ends with the process. */
export class MemoryNodeStore implements NodeStore {
  readonly #documents = new Map<NodeDocument, string>()
  #signer: Promise<Signer> | undefined

  /** A key that lives elsewhere, such as in a hardware module, may be brought. */
  constructor(signer?: Signer) {
    if (signer !== undefined) this.#signer = Promise.resolve(signer)
  }

  signer(): Promise<Signer> {
    return (this.#signer ??= seedSigner('node', toBase64(crypto.getRandomValues(new Uint8Array(32)))))
  }

  read(document: NodeDocument): Promise<string | undefined> {
    return Promise.resolve(this.#documents.get(document))
  }

  write(document: NodeDocument, text: string): Promise<void> {
    this.#documents.set(document, text)
    return Promise.resolve()
  }
}
