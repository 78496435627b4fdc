import { type Signer, seedSigner, toBase64 } from '@chancery/protocol'
import { UsageError } from './errors.ts'

/** A signer from the 32 bytes of a private key. It is a promise because the keys of the platform are. */
export async function createSigner(seed: Uint8Array, keyId = 'key'): Promise<Signer> {
  if (seed.length !== 32) throw new UsageError('a private key has 32 bytes')
  return seedSigner(keyId, toBase64(seed))
}
