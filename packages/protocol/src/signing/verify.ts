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
  const bytes = signature.length === 88 ? fromBase64(signature) : undefined
  if (key === undefined || bytes === undefined) return false
  return verifySignatureBytes(key, message, bytes, backend, place)
}

/** The same verdict for a signature that is already bytes: at once where the platform decides at once. */
export function verifySignatureBytes(
  key: Uint8Array,
  message: Uint8Array,
  signature: Uint8Array,
  backend: Ed25519Backend = ed25519,
  place: 'here' | 'aside' = 'here',
): boolean | Promise<boolean> {
  if (!isAcceptablePoint(key) || signature.length !== 64) return false
  if (!isAcceptablePoint(signature.subarray(0, 32)) || !isScalarInRange(signature.subarray(32))) return false
  try {
    const verdict =
      place === 'aside' && backend.verifyAside !== undefined
        ? backend.verifyAside(key, message, signature)
        : backend.verify(key, message, signature)
    return typeof verdict === 'boolean' ? verdict : verdict.catch(refused)
  } catch {
    return refused()
  }
}

/** A backend that cannot import a point off the curve throws; that is a "no", never an error of the caller. */
function refused(): false {
  return false
}
