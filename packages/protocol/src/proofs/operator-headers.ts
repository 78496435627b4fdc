import { canonicalBytes } from '../canonical/canonical-json.ts'
import { toBase64 } from '../canonical/base64.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { type Signer, verifySignature } from '../signing/keys.ts'

/** Everything an operator's signature covers (protocol/core 11.2). */
export interface OperatorRequest {
  readonly method: string
  /** Percent-decoded, without query. */
  readonly path: string
  readonly query: { readonly [name: string]: readonly string[] }
  /** The authority's public key: a request signed for one authority is nothing to another. */
  readonly audience: string
  readonly body: JsonObject
  readonly key_id: string
  readonly timestamp: string
  readonly nonce: string
}

/** C(P) with exactly nine members. Version 1 left out method, path and audience and is not accepted. */
export function operatorBytes(request: OperatorRequest): Uint8Array {
  const { method, path, query, audience, body, key_id, timestamp, nonce } = request
  return canonicalBytes({ v: 2, method, path, query, audience, body, key_id, timestamp, nonce })
}

export function verifyOperatorRequest(
  request: OperatorRequest,
  signature: string,
  publicKey: string | Uint8Array,
): Promise<boolean> {
  return verifySignature(publicKey, operatorBytes(request), signature)
}

export type OperatorHeaders = {
  readonly 'X-Admin-Key-Id': string
  readonly 'X-Admin-Timestamp': string
  readonly 'X-Admin-Nonce': string
  readonly 'X-Admin-Signature': string
}

export async function signOperatorRequest(
  request: Omit<OperatorRequest, 'key_id'>,
  signer: Signer,
): Promise<OperatorHeaders> {
  const full = { ...request, key_id: signer.keyId }
  return {
    'X-Admin-Key-Id': signer.keyId,
    'X-Admin-Timestamp': request.timestamp,
    'X-Admin-Nonce': request.nonce,
    'X-Admin-Signature': toBase64(await signer.sign(operatorBytes(full))),
  }
}
