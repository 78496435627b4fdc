import { fromBase64 } from '../canonical/base64.ts'
import { sha256Hex } from '../canonical/digest.ts'
import { toUtf8 } from '../canonical/utf8.ts'

/** A DSSE 1.0 envelope with one signature. `payload` and `sig` are base64. */
export interface DsseEnvelope {
  readonly payload: string
  readonly payloadType: string
  readonly signatures: readonly [{ readonly keyid: string; readonly sig: string }]
}

/** The id of a key in our envelopes: SHA-256 of its 32 bytes. A genesis block names no id, and a reader computes this. */
export function dsseKeyId(publicKey: string): string {
  return sha256Hex(fromBase64(publicKey) ?? new Uint8Array())
}

/**
 * The bytes that a DSSE signature covers. They begin with `DSSEv1`, so that a signature of an envelope is never one of
 * a record, which begins with `{`, nor of a request proof or a log note.
 */
export function dsseBytes(payloadType: string, payload: Uint8Array): Uint8Array<ArrayBuffer> {
  const type = toUtf8(payloadType)
  const head = toUtf8(`DSSEv1 ${type.length} ${payloadType} ${payload.length} `)
  const bytes = new Uint8Array(head.length + payload.length)
  bytes.set(head)
  bytes.set(payload, head.length)
  return bytes
}
