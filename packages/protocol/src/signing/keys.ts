import { fromBase64, toBase64 } from '../canonical/base64.ts'
import { isInPrimeSubgroup } from './subgroup.ts'
import { ed25519 } from '#platform'
import type { Ed25519Backend } from './platform.ts'

/**
 * The strictness rules of protocol/core 1.5, applied before any backend: which 32 bytes may be a public key or the
 * R of a signature, and which S is in range. Libraries differ here; a signature one of them accepts and another
 * refuses is a way to make two correct verifiers disagree.
 */

const PRIME_LOW = 0xed
const ALL_ONES = 0xff

// Points of order 1, 2, 4 and 8, sign bit cleared. Under such a key a signature can be valid for many messages.
const SMALL_ORDER: readonly Uint8Array[] = [
  '0000000000000000000000000000000000000000000000000000000000000000',
  '0100000000000000000000000000000000000000000000000000000000000000',
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
  'ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f',
].map(fromHex)

// The order of the base point, 2^252 + 27742317777372353535851937790883648493, little endian.
const GROUP_ORDER: Uint8Array = fromHex('edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010')

/** True for 32 bytes with y below the field prime that are not a point of small order. */
export function isAcceptablePoint(bytes: Uint8Array): boolean {
  return bytes.length === 32 && isReducedY(bytes) && !isSmallOrder(bytes)
}

/** True when S is below the group order: otherwise S + L would be a second signature for the same message. */
export function isScalarInRange(scalar: Uint8Array): boolean {
  for (let i = 31; i >= 0; i -= 1) {
    const digit = scalar[i] as number
    const bound = GROUP_ORDER[i] as number
    if (digit !== bound) return digit < bound
  }
  return false
}

function isSmallOrder(bytes: Uint8Array): boolean {
  for (const point of SMALL_ORDER) if (isSamePoint(point, bytes)) return true
  return false
}

function isSamePoint(point: Uint8Array, bytes: Uint8Array): boolean {
  for (let i = 0; i < 31; i += 1) if (point[i] !== bytes[i]) return false
  return point[31] === maskedTop(bytes)
}

/** y < 2^255 - 19. Only the encodings from p to 2^255 - 1 fail: all ones but the lowest byte. */
function isReducedY(bytes: Uint8Array): boolean {
  if (maskedTop(bytes) !== 0x7f || (bytes[0] as number) < PRIME_LOW) return true
  for (let i = 1; i < 31; i += 1) if (bytes[i] !== ALL_ONES) return true
  return false
}

function maskedTop(bytes: Uint8Array): number {
  return (bytes[31] as number) & 0x7f
}

function fromHex(text: string): Uint8Array {
  return Uint8Array.from({ length: text.length / 2 }, (_, i) => Number.parseInt(text.slice(i * 2, i * 2 + 2), 16))
}

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

/** The two text files of a key pair (protocol/core 2). */
export interface KeyFile {
  readonly keyId: string | undefined
  /** The seed or the public key, base64. */
  readonly value: string
}

/** Comment lines start with `#`; the rest, trimmed and joined, is the value. */
export function readPrivateKeyFile(text: string): KeyFile | undefined {
  const file = readKeyFile(text)
  return readSeed(file.value) === undefined ? undefined : file
}

export function readPublicKeyFile(text: string): KeyFile | undefined {
  const file = readKeyFile(text)
  return readPublicKey(file.value) === undefined ? undefined : file
}

function readKeyFile(text: string): KeyFile {
  const lines = text.split('\n').map((line) => line.trim())
  const value = lines.filter((line) => !line.startsWith('#')).join('')
  const label = lines.find((line) => line.startsWith('# Key ID:'))
  return { keyId: label?.slice('# Key ID:'.length).trim() || undefined, value }
}

export function writePrivateKeyFile(seed: string, keyId?: string): string {
  return writeKeyFile('# Ed25519 Private Key', seed, keyId)
}

export function writePublicKeyFile(publicKey: string, keyId?: string): string {
  return writeKeyFile('# Ed25519 Public Key', publicKey, keyId)
}

function writeKeyFile(title: string, value: string, keyId: string | undefined): string {
  const label = keyId === undefined ? '' : `# Key ID: ${keyId}\n`
  return `${title}\n${label}${value}\n`
}

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

/** The library that does the arithmetic here, for logs and figures. A function: the library loads with its first use. */
export const signatureLibrary = (): string => ed25519.name

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
