import { fromBase64Url, toBase64, toBase64Url } from '../canonical/base64.ts'
import { writeJson } from '../canonical/canonical-json.ts'
import { type JsonObject, isJsonObject, member, toUtf8 } from '../canonical/utf8.ts'
import { JsonError, readJsonBytes } from '../canonical/read-json.ts'
import { type Signer, verifySignature } from './keys.ts'

/** The three parts of a JSON Web Signature (RFC 7515), each in base64url. */
export interface JwsParts {
  readonly protected: string
  readonly payload: string
  readonly signature: string
}

const MAX_HEADER_CHARACTERS = 2048

/** Signs with Ed25519. The name `EdDSA` is the one that all readers know. */
export async function signJws(header: JsonObject, payload: Uint8Array, signer: Signer): Promise<JwsParts> {
  const [head, body] = [toBase64Url(toUtf8(writeJson({ alg: 'EdDSA', ...header }))), toBase64Url(payload)]
  const signature = toBase64Url(await signer.sign(jwsInput({ protected: head, payload: body })))
  return { protected: head, payload: body, signature }
}

/**
 * Reads a protected header that names Ed25519, by either of its names (RFC 8037, RFC 9864). Undefined for any other
 * header, and for one with `crit`: it names extensions that must be understood, and none is.
 */
export function readJwsHeader(text: string): JsonObject | undefined {
  const bytes = text.length <= MAX_HEADER_CHARACTERS ? fromBase64Url(text) : undefined
  const header = bytes && readObject(bytes)
  if (header === undefined || Object.hasOwn(header, 'crit')) return undefined
  const algorithm = member(header, 'alg')
  return algorithm === 'EdDSA' || algorithm === 'Ed25519' ? header : undefined
}

/** True when this key signed header and payload. Check the header with {@link readJwsHeader} first. */
export async function verifyJws(parts: JwsParts, publicKey: string | Uint8Array): Promise<boolean> {
  const signature = fromBase64Url(parts.signature)
  if (signature === undefined) return false
  return verifySignature(publicKey, jwsInput(parts), toBase64(signature))
}

function readObject(bytes: Uint8Array): JsonObject | undefined {
  try {
    const value = readJsonBytes(bytes)
    return isJsonObject(value) ? value : undefined
  } catch (error) {
    if (error instanceof JsonError) return undefined
    throw error
  }
}

/** A compact JWS that has its form. Nothing in it was verified. */
export interface CompactJws {
  readonly parts: JwsParts
  readonly header: JsonObject
  readonly claims: JsonObject
}

/** Reads the three parts strictly: one alphabet, no padding, no repeated names, both parts objects. */
export function readCompactJws(text: string): CompactJws | undefined {
  const [head = '', payload = '', signature, ...more] = text.split('.')
  if (signature === undefined || more.length > 0 || fromBase64Url(signature) === undefined) return undefined
  const [headerBytes, payloadBytes] = [fromBase64Url(head), fromBase64Url(payload)]
  const header = headerBytes && readObject(headerBytes)
  const claims = payloadBytes && readObject(payloadBytes)
  if (header === undefined || claims === undefined) return undefined
  return { parts: { protected: head, payload, signature }, header, claims }
}

/** The text that the signature of a JWS covers. */
export function jwsInput(parts: Pick<JwsParts, 'protected' | 'payload'>): Uint8Array {
  return toUtf8(`${parts.protected}.${parts.payload}`)
}

export function writeCompactJws({ protected: head, payload, signature }: JwsParts): string {
  return `${head}.${payload}.${signature}`
}

/** Members of a header by which a JWS would bring its own key, or need an extension that is not understood. */
export const FOREIGN_KEY_HEADERS = ['jwk', 'jku', 'x5u', 'x5c', 'x5t', 'x5t#S256', 'crit', 'b64', 'zip'] as const
