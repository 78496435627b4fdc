import { sha256 } from '#platform'
import { canonicalBytes } from './canonical-json.ts'
import type { JsonValue } from './json-value.ts'
import { toUtf8 } from './utf8.ts'

export { sha256 } from '#platform'

/** Lowercase hex SHA-256 of bytes, or of the UTF-8 form of a text. */
export function sha256Hex(input: Uint8Array | string): string {
  return toHex(sha256(typeof input === 'string' ? toUtf8(input) : input))
}

/** sha256hex(C(v)): the digest of a record is taken over the bytes its signature covers (protocol/core 1.6). */
export function digestOf(value: JsonValue): string {
  return sha256Hex(canonicalBytes(value))
}

/** The bytes of lowercase hex digits, or undefined. */
export function fromHex(text: string): Uint8Array | undefined {
  if (!/^(?:[0-9a-f]{2})*$/.test(text)) return undefined
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => Number.parseInt(text.slice(at * 2, at * 2 + 2), 16))
}

const HEX_OF_BYTE: readonly string[] = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'))

export function toHex(bytes: Uint8Array): string {
  let out = ''
  for (let i = 0; i < bytes.length; i += 1) out += HEX_OF_BYTE[bytes[i] as number] as string
  return out
}
