import { nodeCrypto } from './node-crypto.ts'
import type { Ed25519Backend } from './platform.ts'
import { findSodium, withSodium } from './sodium.ts'

export { sha256, sha256Text } from './node-crypto.ts'

const sodium = findSodium()

/** libsodium where it is installed, otherwise the platform's own; both give the same verdicts (docs/decisions/0006). */
export const ed25519: Ed25519Backend = sodium === undefined ? nodeCrypto : withSodium(sodium, nodeCrypto)

interface NodeTimers {
  setImmediate(next: () => void): unknown
}

/** Resolves when everything that waits in this turn of the event loop was served. */
export function nextLoopTurn(): Promise<void> {
  return new Promise((resolve) => {
    ;(globalThis as unknown as NodeTimers).setImmediate(resolve)
  })
}
