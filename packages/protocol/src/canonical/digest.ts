import { sha256, sha256Text } from '#platform'
import { canonicalJson } from './canonical-json.ts'
import type { JsonValue } from './utf8.ts'

export { sha256 } from '#platform'

/** Lowercase hex SHA-256 of bytes, or of the UTF-8 form of a text. */
export function sha256Hex(input: Uint8Array | string): string {
  return typeof input === 'string' ? sha256Text(input) : toHex(sha256(input))
}

/** sha256hex(C(v)): the digest of a record is taken over the bytes its signature covers (protocol/core 1.6). */
export function digestOf(value: JsonValue): string {
  return sha256Text(canonicalJson(value))
}

const DIGITS: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

/** The bytes of lowercase hex digits, or undefined. */
export function fromHex(text: string): Uint8Array | undefined {
  if (!/^(?:[0-9a-f]{2})*$/.test(text)) return undefined
  const bytes = new Uint8Array(text.length / 2)
  for (let at = 0; at < bytes.length; at += 1) bytes[at] = Number.parseInt(text.slice(at * 2, at * 2 + 2), 16)
  return bytes
}

export function toHex(bytes: Uint8Array): string {
  let out = ''
  for (const byte of bytes) out += DIGITS[byte] ?? ''
  return out
}
