import { fromBase64, toBase64 } from '../canonical/base64.ts'
import { sha256 } from '../canonical/digest.ts'
import { type JsonValue, toUtf8 } from '../canonical/utf8.ts'
import { JsonError, readJsonBytes } from '../canonical/read-json.ts'
import { type Instant, seconds } from '../canonical/time.ts'
import { type JoinCertificate, presentedCertificate } from '../artifacts/join-certificate.ts'
import { FormError } from '../reading/schema.ts'
import { readPublicKey, verifySignature } from '../signing/keys.ts'

/** The fields of a request proof (docs/protocol/request-proof.md), in lower case. */
export const PROOF_FIELDS = [
  'chancery-certificate',
  'chancery-audience',
  'content-digest',
  'signature-input',
  'signature',
] as const
/** Profile v2 has an attestation as well; either profile may cover `authorization`. */
export type ProofField = (typeof PROOF_FIELDS)[number] | 'chancery-attestation' | 'authorization'
export type ProofHeaders = Readonly<Record<(typeof PROOF_FIELDS)[number], string>> & {
  readonly 'chancery-attestation'?: string
  readonly authorization?: string
}

/** What differs between the profiles: the parts that are signed, in this order, and the tag. */
export interface ProofProfile {
  readonly fields: readonly ProofField[]
  readonly components: readonly string[]
  readonly tag: string
}

export const PROOF_V1: ProofProfile = {
  fields: PROOF_FIELDS,
  components: ['@method', '@request-target', 'content-digest', 'chancery-audience', 'chancery-certificate'],
  tag: 'chancery-node-v1',
}

/** Longest text of a certificate, and of an attestation. */
export const MAX_CARRIED_CHARACTERS = 8192
/** How far ahead of ours the clock of a node may be. */
const MAX_AHEAD_SECONDS = 30

export interface ProofParameters {
  /** Whole seconds since 1970. */
  readonly created: number
  readonly nonce: string
  /** `cert_id` of the certificate. */
  readonly keyId: string
}

/** A proof that is spelled as its profile says. Nothing in it was verified. */
export interface RequestProof {
  readonly profile: ProofProfile
  readonly headers: ProofHeaders
  readonly parameters: ProofParameters
  /** Base64. */
  readonly signature: string
}

/** What a proof is about, as it travels. */
export interface SignedRequest {
  readonly method: string
  /** Path and query as in the request line. */
  readonly target: string
}

export function contentDigest(body: Uint8Array): string {
  return `sha-256=:${toBase64(sha256(body))}:`
}

export function writeProofParameters(
  { created, nonce, keyId }: ProofParameters,
  { components, tag }: ProofProfile,
): string {
  return `("${components.join('" "')}");created=${created};nonce="${nonce}";keyid="${keyId}";alg="ed25519";tag="${tag}"`
}

// A quoted key id holds neither quote nor backslash, so nothing in it has to be unescaped.
const PARAMETERS = /;created=([1-9]\d{0,11});nonce="([\w.-]{16,64})";keyid="([ !#-[\]-~]{1,256})"/

export function isKeyIdOfProof(text: string): boolean {
  return /^[ !#-[\]-~]{1,256}$/.test(text)
}

/** Reads a proof in the one spelling of a profile; undefined for any other. */
export function readProofOf(profile: ProofProfile, headers: ProofHeaders): RequestProof | undefined {
  const input = headers['signature-input']
  const [, created, nonce = '', keyId = ''] = PARAMETERS.exec(input) ?? []
  const [, signature] = /^node=:([A-Za-z0-9+/]{86}==):$/.exec(headers.signature) ?? []
  if (created === undefined || signature === undefined) return undefined
  const parameters = { created: Number(created), nonce, keyId }
  const isSpelled =
    input === `node=${writeProofParameters(parameters, profile)}` &&
    headers['chancery-certificate'].length <= MAX_CARRIED_CHARACTERS
  return isSpelled ? { profile, headers, parameters, signature } : undefined
}

/** True when the proof is not too old, and not too far ahead. */
export function isProofCurrent({ parameters }: RequestProof, now: Instant, maxAgeSeconds: number): boolean {
  const age = now - seconds(parameters.created)
  return age <= seconds(maxAgeSeconds) && age >= -seconds(MAX_AHEAD_SECONDS)
}

/**
 * The certificate in a proof, when the key that it names signed this request. Whether the certificate is trusted is
 * another question. A caller may give the certificate of exactly this text, when it was read before.
 */
export async function verifyRequestProof(
  { profile, headers, parameters, signature }: RequestProof,
  request: SignedRequest,
  certificate: JoinCertificate | undefined = readCarried(headers['chancery-certificate'], (value) =>
    presentedCertificate(value, ''),
  ),
): Promise<JoinCertificate | 'certificate_malformed' | 'signature_invalid'> {
  const key = certificate && readPublicKey(certificate.node_public_key)
  if (certificate?.cert_id !== parameters.keyId || key === undefined) return 'certificate_malformed'
  const base = signatureBase(request, headers, headers['signature-input'].slice('node='.length), profile)
  return (await verifySignature(key, base, signature)) ? certificate : 'signature_invalid'
}

/** RFC 9421 section 2.5. */
export function signatureBase(
  { method, target }: SignedRequest,
  fields: Omit<ProofHeaders, 'signature' | 'signature-input'>,
  parameters: string,
  { components }: ProofProfile,
): Uint8Array {
  const values: Readonly<Record<string, string>> = {
    ...fields,
    '@method': method,
    '@request-target': target,
    '@signature-params': parameters,
  }
  return toUtf8([...components, '@signature-params'].map((name) => `"${name}": ${values[name]}`).join('\n'))
}

/** Reads the JSON that a field carries in base64 between colons. */
export function readCarried<Value>(text: string, read: (value: JsonValue) => Value): Value | undefined {
  const bytes = fromBase64(/^:(.*):$/.exec(text)?.[1] ?? '')
  if (bytes === undefined) return undefined
  try {
    return read(readJsonBytes(bytes))
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError) return undefined
    throw error
  }
}
