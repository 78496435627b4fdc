import { ed25519 } from '#platform'
import { toBase64 } from '../canonical/base64.ts'
import { readSeed } from './keys.ts'
import type { Ed25519Backend } from './platform.ts'

/** Who signed (a label, never a reason to trust) and the signature over the record's canonical bytes. */
export type Signature = { readonly key_id: string; readonly sig: string }

/**
 * Something that can sign under one key. Implementers: a file, an environment variable, a token, a key service.
 * `sign` must return the 64 signature bytes for exactly these message bytes, and must never expose the private key.
 */
export interface Signer {
  readonly keyId: string
  /** base64, 44 characters. */
  readonly publicKey: string
  sign(message: Uint8Array): Promise<Uint8Array>
}

/** A signer held in memory, made from a base64 seed. */
export async function seedSigner(keyId: string, seed: string, backend: Ed25519Backend = ed25519): Promise<Signer> {
  const bytes = readSeed(seed)
  if (bytes === undefined) throw new TypeError('a private key is 32 bytes in base64')
  const key = await backend.signer(bytes)
  // A page or a process runs for hours: what is left in its memory can be found there.
  bytes.fill(0)
  return { keyId, publicKey: toBase64(key.publicKey), sign: async (message) => key.sign(message) }
}
