import { findSodium, nodeCrypto, withSodium } from './platform-node.ts'
import type { Ed25519Backend } from './platform.ts'
import { ed25519 as webCrypto } from './platform-web.ts'

const sodium = findSodium()

/** Every backend that can run here; whatever one of them accepts, all must accept. */
export const BACKENDS: readonly Ed25519Backend[] = [
  nodeCrypto,
  webCrypto,
  ...(sodium === undefined ? [] : [withSodium(sodium, nodeCrypto)]),
]
