import { canonicalJson } from '../canonical/canonical-json.ts'
import { JsonFloat, type JsonObject, type JsonValue } from '../canonical/utf8.ts'
import { fromBase64 } from '../canonical/base64.ts'
import { type Instant, readInstant } from '../canonical/time.ts'
import { type Signature, readPublicKey } from '../signing/keys.ts'
import { FormError, type Read, described } from './schema.ts'
import { arrayOf, closed, object, required, string } from './shape.ts'

// C0, DEL and C1: invisible characters that make two names look alike or break a log line.
// oxlint-disable-next-line no-control-regex -- control characters are what this pattern is for
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/
const NO_CONTROL = String.raw`^[^\u0000-\u001f\u007f-\u009f]*$`

/** Unicode text of 1 (or `min`) to `max` code points without control characters. */
export function plainText(max: number, min = 1): Read<string> {
  const read: Read<string> = (value, field) => {
    const text = string(value, field)
    if (!isPlainText(text, max, min))
      throw new FormError(field, `${min} to ${max} characters without control characters`)
    return text
  }
  return described(read, () => ({ type: 'string', minLength: min, maxLength: max, pattern: NO_CONTROL }))
}

export function isPlainText(text: string, max: number, min = 1): boolean {
  // Code points are at most the code units and at least half of them: count only when it matters.
  if (text.length < min || text.length > max * 2) return false
  if (text.length > max && [...text].length > max) return false
  return !CONTROL.test(text)
}

/** Text of a fixed alphabet; `pattern` must be anchored and linear. */
export function matching(pattern: RegExp, rule: string): Read<string> {
  const read: Read<string> = (value, field) => {
    const text = string(value, field)
    if (!pattern.test(text)) throw new FormError(field, rule)
    return text
  }
  return described(read, () => ({ type: 'string', pattern: pattern.source }))
}

/** Unicode text of 1 to `max` code points, line breaks included. */
export function textOf(max: number): Read<string> {
  const read: Read<string> = (value, field) => {
    const text = string(value, field)
    if (text === '' || text.length > max * 2 || [...text].length > max)
      throw new FormError(field, `1 to ${max} characters are needed`)
    return text
  }
  return described(read, () => ({ type: 'string', minLength: 1, maxLength: max }))
}

const UUID = /^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$/
export const uuid: Read<string> = /* @__PURE__ */ matching(UUID, 'a UUID is needed')

/** Record and sovereign ids when read (protocol/core 1.5). */
export const identifier: Read<string> = plainText(128)

const KEY_ID = /^[A-Za-z0-9._:@/+=-]{1,128}$/
export const keyId: Read<string> = /* @__PURE__ */ matching(
  KEY_ID,
  '1 to 128 characters of A-Z a-z 0-9 . _ : @ / + = -',
)

export function isKeyId(text: string): boolean {
  return KEY_ID.test(text)
}

/** A nonce of an operator or node proof: printable ASCII without space. */
const NONCE = /^[!-~]{1,128}$/
export function isNonce(text: string): boolean {
  return NONCE.test(text)
}

export const publicKey: Read<string> = described(
  (value, field) => {
    const text = string(value, field)
    if (readPublicKey(text) === undefined) throw new FormError(field, 'an Ed25519 public key in base64 is needed')
    return text
  },
  () => ({
    description: 'An Ed25519 public key, 32 bytes. Weak points of the curve are refused.',
    type: 'string',
    contentEncoding: 'base64',
    pattern: '^[A-Za-z0-9+/]{43}=$',
  }),
  'public_key',
)

/** Keys a verifier was given for one party; each costs a verification per signature (protocol/trust-operations 1.5). */
export const publicKeys: Read<readonly string[]> = /* @__PURE__ */ arrayOf(publicKey, { max: 64 })

/** Capabilities, source ids, access types and tags (protocol/trust-operations 1.5). */
export const label: Read<string> = plainText(256)

/** A SHA-256 in lowercase hex. */
export const digest: Read<string> = matching(/^[0-9a-f]{64}$/, '64 lowercase hexadecimal digits')

/** The salt of a disclosed capability, 16 bytes in lowercase hex. */
export const salt: Read<string> = matching(/^[0-9a-f]{32}$/, '32 lowercase hexadecimal digits')

/** A timestamp inside a signed record (T-rec). The text stays as received, because the signature covers it. */
export const timestamp: Read<string> = described(
  (value, field) => {
    const text = string(value, field)
    if (readInstant(text) === undefined) throw new FormError(field, 'an ISO 8601 instant is needed')
    return text
  },
  () => ({
    description: 'An instant. Without Z or an offset it is UTC; digits beyond microseconds are cut off.',
    type: 'string',
    pattern: '^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,9})?(Z|[+-][0-9]{2}:[0-9]{2})?$',
  }),
  'timestamp',
)

/** The instant of a timestamp that has passed its reader. */
export function instantOf(text: string): Instant {
  const instant = readInstant(text)
  if (instant === undefined) throw new FormError('', 'an ISO 8601 instant is needed')
  return instant
}

/** Two timestamps of one record in order; `<` for windows, `<=` where an empty one is allowed. */
export function requireOrder(
  record: { readonly [name: string]: unknown },
  from: string,
  order: '<' | '<=',
  to: string,
): void {
  const [start, end] = [instantOf(String(record[from])), instantOf(String(record[to]))]
  if (order === '<' ? start >= end : start > end)
    throw new FormError(to, `must be ${order === '<' ? 'later than' : 'not before'} ${from}`)
}

const signatureText: Read<string> = described(
  (value, field) => {
    const text = string(value, field)
    if (text.length !== 88 || fromBase64(text)?.length !== 64)
      throw new FormError(field, 'a signature in base64 is needed')
    return text
  },
  () => ({ type: 'string', contentEncoding: 'base64', pattern: '^[A-Za-z0-9+/]{86}==$' }),
  'signature_text',
)

/** The key id is a label only, so its grammar is wide; it never selects trust (protocol/core 1.6). */
const signature: Read<Signature> = closed({ key_id: required(identifier), sig: required(signatureText) })

/** Reads the form of signatures only; a signature with a wrong encoding is a finding of the verification. */
export function uncheckedSignatures(max: number): Read<readonly Signature[]> {
  return arrayOf(closed({ key_id: required(string), sig: required(string) }), { max })
}

/** At most eight: a longer list would make one record cost many verifications. */
export const signatures: Read<readonly Signature[]> = arrayOf(signature, { max: 8 })

/** A free-form object with bounded canonical size and nesting of at most 16 (protocol/core 1.6). */
export function freeForm(maxBytes: number): Read<JsonObject> {
  const read: Read<JsonObject> = (value, field) => {
    const found = object(value, field)
    if (depthOf(found) > 16) throw new FormError(field, 'is nested too deeply')
    if (canonicalJson(found).length > maxBytes) throw new FormError(field, `is larger than ${maxBytes} bytes`)
    return found
  }
  const $comment = `At most ${maxBytes} bytes in canonical form, nested at most 16 deep.`
  return described(read, () => ({ type: 'object', $comment }))
}

/** Levels of objects and lists; 0 for a scalar. */
export function depthOf(value: JsonValue): number {
  if (typeof value !== 'object' || value === null || value instanceof JsonFloat) return 0
  let deepest = 0
  for (const child of Object.values(value)) deepest = Math.max(deepest, depthOf(child))
  return deepest + 1
}
