import { sha256, sha256Text } from '#platform'
import { canonicalJson } from './canonical-json.ts'
import type { JsonValue } from './utf8.ts'
import { toHex } from './hex.ts'

export { sha256 } from '#platform'
export { fromHex, toHex } from './hex.ts'

/** Lowercase hex SHA-256 of bytes, or of the UTF-8 form of a text. */
export function sha256Hex(input: Uint8Array | string): string {
  return typeof input === 'string' ? sha256Text(input) : toHex(sha256(input))
}

/** sha256hex(C(v)): the digest of a record is taken over the bytes its signature covers (protocol/core 1.6). */
export function digestOf(value: JsonValue): string {
  return sha256Text(canonicalJson(value))
}
