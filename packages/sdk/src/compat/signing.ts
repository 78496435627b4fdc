import {
  canonicalBytes,
  canonicalJson,
  digestOf,
  operatorBytes,
  readJson,
  seedSigner,
  signOperatorRequest,
  toBase64,
  verifySignature,
  writeInstant,
} from '@chancery/protocol'
import type { Instant, JsonObject, JsonValue, OperatorHeaders, OperatorRequest, Signature } from '@chancery/protocol'
import { systemClock } from '../http/system-clock.ts'
import { type ExistingSigner, checkedSigner } from './options.ts'

export const ADMIN_SIGNATURE_VERSION = 2

/** The content of an operator signature; timestamp and nonce are created when they are not given. */
export interface AdminRequest {
  readonly method: string
  /** Percent-decoded, without query. */
  readonly path: string
  readonly query?: OperatorRequest['query']
  readonly body?: JsonObject
  /** The public key of the authority. */
  readonly audience: string
  readonly timestamp?: string
  readonly nonce?: string
}

export async function buildAdminHeaders(
  request: AdminRequest,
  key: { readonly signingKeyBase64: string; readonly keyId: string },
): Promise<OperatorHeaders> {
  return buildAdminHeadersWithSigner(request, await seedSigner(key.keyId, key.signingKeyBase64))
}

export function buildAdminHeadersWithSigner(request: AdminRequest, signer: ExistingSigner): Promise<OperatorHeaders> {
  const { query = {}, body = {}, timestamp = pythonTimestamp(), nonce = crypto.randomUUID() } = request
  return signOperatorRequest({ ...request, query, body, timestamp, nonce }, checkedSigner(signer))
}

/** The exact bytes. */
export const adminSigningPayload: (request: OperatorRequest) => Uint8Array = operatorBytes

export const canonicalDigest: (value: JsonValue) => string = digestOf

/** Keeps the spelling of floats and integers of any size, and refuses ambiguous text. */
export const parseJson: (text: string) => JsonValue = (text) => readJson(text)

/** Throws {@link StrictJsonError} unless every reader parses the text alike. */
export function checkStrictJson(text: string): void {
  readJson(text)
}

/** Throws unless the value has one canonical form. */
export function checkSignable(value: JsonValue): void {
  canonicalJson(value)
}

/** An instant as signed records spell it. */
export function pythonTimestamp(instant: Instant = systemClock()): string {
  return writeInstant(instant)
}

export async function publicKeyFromSeed(seedBase64: string): Promise<string> {
  return (await seedSigner('seed', seedBase64)).publicKey
}

export async function signBytes(bytes: Uint8Array, seedBase64: string): Promise<string> {
  return toBase64(await (await seedSigner('seed', seedBase64)).sign(bytes))
}

export function verifyBytes(bytes: Uint8Array, signatureBase64: string, publicKey: string): Promise<boolean> {
  return verifySignature(publicKey, bytes, signatureBase64)
}

/** Signs C(value). */
export async function signCanonical(value: JsonValue, signer: ExistingSigner): Promise<Signature> {
  const signature = await checkedSigner(signer).sign(canonicalBytes(value))
  return { key_id: signer.keyId, sig: toBase64(signature) }
}

export function verifyCanonical(
  value: JsonValue,
  { sig }: Pick<Signature, 'sig'>,
  publicKey: string,
): Promise<boolean> {
  return verifySignature(publicKey, canonicalBytes(value), sig)
}
