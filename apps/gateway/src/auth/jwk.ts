import { type KeyObject, createPublicKey, verify } from 'node:crypto'
import type { JWK } from 'jose'
import { type JsonObject, type JwsParts, fromBase64Url, jwsInput, toBase64, verifyJws } from '@chancery/protocol'

const MIN_RSA_BITS = 2048
/** Key types by algorithm. No other algorithm is tried, whatever the token claims. */
export const KEY_TYPES: Readonly<Record<string, { readonly kty: string; readonly crv?: string }>> = {
  RS256: { kty: 'RSA' },
  ES256: { kty: 'EC', crv: 'P-256' },
  EdDSA: { kty: 'OKP', crv: 'Ed25519' },
}

/** True for a key that may verify signatures of this algorithm. */
export function isUsableKey(key: JsonObject, alg: string): boolean {
  const type = KEY_TYPES[alg]
  if (type === undefined || key['kty'] !== type.kty || (type.crv !== undefined && key['crv'] !== type.crv)) return false
  if (key['use'] !== undefined && key['use'] !== 'sig') return false
  if (key['key_ops'] !== undefined && !(Array.isArray(key['key_ops']) && key['key_ops'].includes('verify')))
    return false
  if (key['alg'] !== undefined && key['alg'] !== alg) return false
  return type.kty !== 'RSA' || rsaBits(key) >= MIN_RSA_BITS
}

function rsaBits(key: JsonObject): number {
  const modulus = typeof key['n'] === 'string' ? Buffer.from(key['n'], 'base64url') : Buffer.alloc(0)
  const first = modulus.findIndex((byte) => byte !== 0)
  return first < 0 ? 0 : (modulus.length - first) * 8 - Math.clz32(modulus[first] ?? 0) + 24
}

/** Public members only: private keys of a faulty set must not be copied. */
export function toPublicJwk({ kty, crv, x, y, n, e }: JsonObject): JWK {
  const members = { kty, crv, x, y, n, e }
  return Object.fromEntries(Object.entries(members).filter(([, value]) => typeof value === 'string'))
}

/** The key of a JWK, or undefined when the platform does not take it: for example a point that is not on its curve. */
export function importJwk(key: JsonObject): KeyObject | undefined {
  try {
    return createPublicKey({ key: toPublicJwk(key), format: 'jwk' })
  } catch {
    // The library throws for every text that is no key.
    return undefined
  }
}

/** True when the key signed a JWS. The algorithm comes from the key, never from the JWS. */
export async function isSignedBy(key: KeyObject, alg: string, parts: JwsParts): Promise<boolean> {
  const signature = fromBase64Url(parts.signature)
  if (signature === undefined) return false
  if (alg === 'EdDSA') return verifyJws(parts, ed25519Text(key))
  const isEc = alg === 'ES256'
  if (isEc && signature.length !== 64) return false
  return verify('sha256', jwsInput(parts), isEc ? { key, dsaEncoding: 'ieee-p1363' } : key, signature)
}

/** An Ed25519 key as our records spell it. */
export function ed25519Text(key: KeyObject): string {
  return toBase64(fromBase64Url(key.export({ format: 'jwk' }).x ?? '') ?? new Uint8Array())
}
