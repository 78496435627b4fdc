/**
 * What a platform must offer. Backends only do the arithmetic: every rule about which keys and signatures are
 * acceptable at all is in `verify.ts`, so all backends give the same verdicts.
 */
export interface Ed25519Backend {
  readonly name: string
  /** True when the signature satisfies the equation for these 32-byte key and 64-byte signature values. */
  verify(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean | Promise<boolean>
  /** Like `verify`, outside the event loop where the platform can; for records that cost many checks. */
  verifyAside?(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): Promise<boolean>
  /** Makes a signer from a 32-byte seed; the seed is not stored in any other form. */
  signer(seed: Uint8Array): KeySigner | Promise<KeySigner>
}

/** A private key that can sign and cannot be read. */
export interface KeySigner {
  readonly publicKey: Uint8Array
  sign(message: Uint8Array): Uint8Array | Promise<Uint8Array>
}

/** Imported keys are cached: an import costs as much as a verification. Bounded, since callers choose public keys. */
export const KEY_CACHE_SIZE = 10_000

/** Above this size the message is hashed in the thread pool, so that a long list does not block other requests. */
export const LARGE_BYTES = 65_536

const ED25519_OID = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00] as const
const ED25519_PKCS8 = [
  0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20,
] as const

/** SubjectPublicKeyInfo of RFC 8410. */
export function toSpki(publicKey: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...ED25519_OID, ...publicKey])
}

/** PKCS#8 of RFC 8410. */
export function toPkcs8(seed: Uint8Array): Uint8Array<ArrayBuffer> {
  return Uint8Array.from([...ED25519_PKCS8, ...seed])
}

/** Least recently used entries leave first. */
export class BoundedCache<Value> {
  readonly #entries = new Map<string, Value>()
  readonly #capacity: number

  constructor(capacity: number) {
    this.#capacity = capacity
  }

  get(name: string): Value | undefined {
    const value = this.#entries.get(name)
    if (value === undefined) return undefined
    this.#entries.delete(name)
    this.#entries.set(name, value)
    return value
  }

  set(name: string, value: Value): void {
    if (!this.#entries.delete(name) && this.#entries.size >= this.#capacity) {
      const oldest = this.#entries.keys().next()
      if (!oldest.done) this.#entries.delete(oldest.value)
    }
    this.#entries.set(name, value)
  }

  get size(): number {
    return this.#entries.size
  }
}

/** A map key for 32 bytes, without an encoding step that costs more than the look-up. */
export function cacheName(bytes: Uint8Array): string {
  return String.fromCharCode(...bytes)
}
