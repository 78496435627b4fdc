import { type KeyObject, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { findSodium } from '../../packages/protocol/src/signing/platform-node.ts'

/**
 * Signatures for very many keys. A secret is 64 bytes, seed and public key, so a million of them take 64 MB in one
 * buffer and need no key objects. With libsodium a signature takes about 20 µs; with Node.js, which must read the key
 * again for each signature, several times as long.
 */
export const SECRET_BYTES = 64

const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')
const sodium = findSodium()

/** Writes seed and public key into 64 bytes. */
export function writeSecret(seed: Uint8Array, into: Uint8Array): void {
  if (sodium !== undefined) {
    sodium.crypto_sign_seed_keypair(into.subarray(32), into, seed)
    return
  }
  const { x = '' } = createPublicKey(readSeed(seed)).export({ format: 'jwk' })
  into.set(seed)
  into.set(Buffer.from(x, 'base64url'), 32)
}

/** Returns the public key of a secret in base64. */
export function publicKeyOf(secret: Uint8Array): string {
  return Buffer.from(secret.buffer, secret.byteOffset + 32, 32).toString('base64')
}

/** Returns the signature in base64. */
export function signRaw(message: Uint8Array, secret: Uint8Array): string {
  if (sodium === undefined) return sign(null, message, readSeed(secret.subarray(0, 32))).toString('base64')
  const signature = Buffer.allocUnsafe(64)
  sodium.crypto_sign_detached(signature, message, secret)
  return signature.toString('base64')
}

function readSeed(seed: Uint8Array): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8, seed]), format: 'der', type: 'pkcs8' })
}
