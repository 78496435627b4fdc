import { nextLoopTurn } from '#platform'
import { fromBase64, toBase64 } from '../canonical/base64.ts'
import { FormError } from '../reading/schema.ts'
import { type Signature, type Signer, readPublicKey, verifySignature, verifySignatureBytes } from './keys.ts'
import { canonicalBytes } from '../canonical/canonical-json.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'

/**
 * protocol/trust-operations 1.5 allows 8 signatures and 64 keys, but not their product: one record costs at most so
 * many verifications against one list of keys. All pairs are tried for one signature and 64 keys, for 8 signatures and
 * 16 keys, and for everything between that needs no more.
 */
export const CHECKS_PER_RECORD = 128

/** Every verification hashes the whole record: a large one gets fewer of them, but always one for each signature. */
const HASHED_BYTES_PER_RECORD = 16_777_216
const CHECKS_AT_LEAST = 8

/** One turn of the event loop does so many checks, and hashes so many bytes, of all long verifications together. */
const SLICE_CHECKS = 16
const SLICE_BYTES = 262_144

/** The allowed verifications are used up and none of them held, yet not every pair was tried. No verdict was reached. */
export class TooManyChecksError extends FormError {
  constructor() {
    super('signatures', 'too many signatures and keys for a record of this size')
  }
}

/** How many verifications a record of this size may cost. */
export function checksAllowed(messageBytes: number): number {
  const byBytes = Math.floor(HASHED_BYTES_PER_RECORD / Math.max(1, messageBytes))
  return Math.min(CHECKS_PER_RECORD, Math.max(CHECKS_AT_LEAST, byBytes))
}

/**
 * True when one signature verifies under one of the keys. `key_id` gives no trust: it only decides which key is tried
 * first. Throws {@link TooManyChecksError} where no verdict is possible at an acceptable cost.
 */
export async function verifyAny(
  message: Uint8Array,
  signatures: readonly Signature[],
  keys: readonly string[],
): Promise<boolean> {
  const slices = new CheckSlices(message.length)
  let left = checksAllowed(message.length)
  for (const [key, signature] of pairsOf(signatures, keys)) {
    if (left === 0) throw new TooManyChecksError()
    left -= 1
    const waiting = slices.next()
    if (waiting !== undefined) await waiting
    const verdict = verifySignatureBytes(key, message, signature)
    if (typeof verdict === 'boolean' ? verdict : await verdict) return true
  }
  return false
}

/** Every pair once. A signature that names one of the keys is tried under that key before all others. */
function* pairsOf(
  signatures: readonly Signature[],
  keys: readonly string[],
): Generator<readonly [Uint8Array, Uint8Array]> {
  const readKeys = new Map<string, Uint8Array>()
  for (const text of keys) {
    const key = readKeys.has(text) ? undefined : readPublicKey(text)
    if (key !== undefined) readKeys.set(text, key)
  }
  const readSignatures = new Map<string, { readonly bytes: Uint8Array; readonly named: Set<string> }>()
  for (const { key_id, sig } of signatures) {
    const bytes = readSignatures.get(sig)?.bytes ?? (sig.length === 88 ? fromBase64(sig) : undefined)
    if (bytes === undefined) continue
    const entry = readSignatures.get(sig) ?? { bytes, named: new Set() }
    if (readKeys.has(key_id)) entry.named.add(key_id)
    readSignatures.set(sig, entry)
  }
  for (const { bytes, named } of readSignatures.values())
    for (const text of named) yield [readKeys.get(text) as Uint8Array, bytes]
  for (const { bytes, named } of readSignatures.values())
    for (const [text, key] of readKeys) if (!named.has(text)) yield [key, bytes]
}

/**
 * Cuts a long run of checks into slices. The slices of all runs wait in one line and one of them is done per turn of
 * the event loop: however many long verifications are under way, other work waits for one slice only.
 */
export class CheckSlices {
  static #line: Promise<void> = Promise.resolve()
  readonly #checks: number
  #left: number

  /** `messageBytes` is what one check hashes, about. */
  constructor(messageBytes: number = 1024) {
    this.#checks = Math.max(1, Math.min(SLICE_CHECKS, Math.floor(SLICE_BYTES / Math.max(1, messageBytes))))
    this.#left = this.#checks
  }

  /** Asked before each check: undefined to go on at once, otherwise what to wait for. */
  next(): Promise<void> | undefined {
    this.#left -= 1
    if (this.#left >= 0) return undefined
    this.#left = this.#checks - 1
    CheckSlices.#line = CheckSlices.#line.then(nextLoopTurn)
    return CheckSlices.#line
  }
}

/** Records with a list of signatures (protocol/core 1.6) … */
export type SignedList = { readonly signatures: readonly Signature[] }
/** … and records with a single one. */
export type SignedOnce = { readonly signature: Signature | null }

/** C(record without its signature member): what both forms sign and what digests cover. */
export function signedBytes(record: JsonObject, field: 'signatures' | 'signature'): Uint8Array {
  const { [field]: _dropped, ...rest } = record
  return canonicalBytes(rest)
}

/** Adds one signature to a record that carries `signatures`. */
export async function signList<Draft extends JsonObject>(
  draft: Draft,
  signer: Signer,
): Promise<Omit<Draft, 'signatures'> & { signatures: readonly Signature[] }> {
  const { signatures: present = [], ...rest } = draft as JsonObject
  const signature = await signatureOver(rest, signer)
  const signatures = [...(present as unknown as readonly Signature[]), signature]
  return { ...(rest as Omit<Draft, 'signatures'>), signatures }
}

/** Fills the single `signature` of a record; `keyId` differs from the signer's where the record names another. */
export async function signOnce<Draft extends JsonObject>(
  draft: Draft,
  signer: Signer,
  keyId: string = signer.keyId,
): Promise<Omit<Draft, 'signature'> & { signature: Signature }> {
  const { signature: _unsigned, ...rest } = draft as JsonObject
  const signature = await signatureOver(rest, signer, keyId)
  return { ...(rest as Omit<Draft, 'signature'>), signature }
}

async function signatureOver(rest: JsonObject, signer: Signer, keyId: string = signer.keyId): Promise<Signature> {
  return { key_id: keyId, sig: toBase64(await signer.sign(canonicalBytes(rest))) }
}

/** True when one signature verifies under one of the accepted keys. `key_id` selects nothing. */
export async function verifyList(record: JsonObject & SignedList, keys: readonly string[]): Promise<boolean> {
  return verifyAny(signedBytes(record, 'signatures'), record.signatures, keys)
}

/** True when the record has signatures and every one of them verifies under this key. */
export async function verifyEvery(record: JsonObject & SignedList, key: string): Promise<boolean> {
  const message = signedBytes(record, 'signatures')
  for (const { sig } of record.signatures) if (!(await verifySignature(key, message, sig))) return false
  return record.signatures.length > 0
}

/** True when the single signature verifies under one of the accepted keys. */
export async function verifyOnce(record: JsonObject & SignedOnce, keys: readonly string[]): Promise<boolean> {
  if (record.signature === null) return false
  return verifyAny(signedBytes(record, 'signature'), [record.signature], keys)
}

/** A record type seen as the JSON it is; TypeScript interfaces lack the index signature. */
export function asJson(record: object): JsonObject {
  return record as { readonly [name: string]: JsonValue }
}
