import { ed25519 } from '#platform'
import { fromBase64 } from '../canonical/base64.ts'
import { isAcceptablePoint, isScalarInRange } from './ed25519-rules.ts'
import { readPublicKey } from './keys.ts'
import type { Ed25519Backend } from './platform.ts'

/** The library that does the arithmetic here, for logs and figures. */
export const signatureLibrary: string = ed25519.name

/**
 * The one verify function (protocol/core 1.5): key and R must be acceptable points, S in range, then the platform
 * decides. Text in, verdict out; nothing else in the product calls a backend's verify.
 */
export async function verifySignature(
  publicKey: string | Uint8Array,
  message: Uint8Array,
  signature: string,
  backend: Ed25519Backend = ed25519,
  place: 'here' | 'aside' = 'here',
): Promise<boolean> {
  const key = typeof publicKey === 'string' ? readPublicKey(publicKey) : publicKey
  if (key === undefined || !isAcceptablePoint(key)) return false
  const bytes = signature.length === 88 ? fromBase64(signature) : undefined
  if (bytes?.length !== 64) return false
  if (!isAcceptablePoint(bytes.subarray(0, 32)) || !isScalarInRange(bytes.subarray(32))) return false
  try {
    if (place === 'aside' && backend.verifyAside !== undefined) return await backend.verifyAside(key, message, bytes)
    return await backend.verify(key, message, bytes)
  } catch {
    // A backend that cannot import a point off the curve throws; that is a "no", never an error of the caller.
    return false
  }
}
