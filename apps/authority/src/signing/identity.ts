import type { GenesisBlock } from '@chancery/protocol'
import type { OwnKeys } from './own-keys.ts'
import type { AuthoritySigner } from './signer.ts'

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
