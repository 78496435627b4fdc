import { nodeCrypto } from './node-crypto.ts'
import type { Ed25519Backend } from './platform.ts'
import { findSodium, withSodium } from './sodium.ts'

export { sha256, sha256Text } from './node-crypto.ts'

let chosen: Ed25519Backend | undefined

/** Loads libsodium with the first signature, because most commands make and check none. */
function choose(): Ed25519Backend {
  const sodium = findSodium()
  chosen = sodium === undefined ? nodeCrypto : withSodium(sodium, nodeCrypto)
  return chosen
}

/** libsodium where it is installed, otherwise the platform's own; both give the same verdicts (docs/decisions/0006). */
export const ed25519: Ed25519Backend = {
  get name() {
    return (chosen ?? choose()).name
  },
  verify: (publicKey, message, signature) => (chosen ?? choose()).verify(publicKey, message, signature),
  verifyAside: async (publicKey, message, signature) => {
    const backend = chosen ?? choose()
    return backend.verifyAside === undefined
      ? backend.verify(publicKey, message, signature)
      : backend.verifyAside(publicKey, message, signature)
  },
  signer: (seed) => (chosen ?? choose()).signer(seed),
}

interface NodeTimers {
  setImmediate(next: () => void): unknown
}

/** Resolves when everything that waits in this turn of the event loop was served. */
export function nextLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    ;(globalThis as unknown as NodeTimers).setImmediate(resolve)
  })
}
