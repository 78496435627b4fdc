import { canonicalBytes } from '../canonical/canonical-json.ts'
import { toBase64 } from '../canonical/base64.ts'
import type { JsonObject, JsonValue } from '../canonical/json-value.ts'
import type { Signature, Signer } from './sign.ts'
import { verifyAny } from './verify-any.ts'
import { verifySignature } from './verify.ts'

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
