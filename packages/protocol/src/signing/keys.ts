import { fromBase64 } from '../canonical/base64.ts'
import { isAcceptablePoint } from './ed25519-rules.ts'
import { isInPrimeSubgroup } from './subgroup.ts'

/** Bytes of a public key text, or undefined: strict base64, 32 bytes, y below the prime, not of small order. */
export function readPublicKey(text: string): Uint8Array | undefined {
  if (text.length !== 44) return undefined
  const bytes = fromBase64(text)
  return bytes !== undefined && isAcceptablePoint(bytes) ? bytes : undefined
}

/** As {@link readPublicKey}, and of prime order: for keys that enter configuration or the store. */
export function readTrustedPublicKey(text: string): Uint8Array | undefined {
  const bytes = readPublicKey(text)
  return bytes !== undefined && isInPrimeSubgroup(bytes) ? bytes : undefined
}

/** The 32 bytes of a private key text, or undefined. */
export function readSeed(text: string): Uint8Array | undefined {
  const bytes = text.length === 44 ? fromBase64(text) : undefined
  return bytes?.length === 32 ? bytes : undefined
}
