import { fromBase64, toBase64 } from '../canonical/base64.ts'
import { sha256 } from '../canonical/digest.ts'

const BOUND_BYTES = 16

/**
 * The audience that evidence must name (protocol/admission 4): the authority, and in the bound form the node key, so
 * that a stolen token is of no use to another key. Both keys in the base64 of the protocol.
 */
export function joinAudience(authorityKey: string, nodeKey?: string): string {
  const plain = `chancery-join:${toBase64Url(bytesOf(authorityKey))}`
  return nodeKey === undefined ? plain : `${plain}:${toBase64Url(sha256(bytesOf(nodeKey)).subarray(0, BOUND_BYTES))}`
}

function bytesOf(key: string): Uint8Array {
  const bytes = fromBase64(key)
  if (bytes?.length !== 32) throw new TypeError('a public key in base64 is needed')
  return bytes
}

function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '')
}
