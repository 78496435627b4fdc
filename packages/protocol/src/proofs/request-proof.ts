import { fromBase64, toBase64 } from '../canonical/base64.ts'
import { sha256 } from '../canonical/digest.ts'
import type { JsonValue } from '../canonical/json-value.ts'
import { JsonError, readJsonBytes } from '../canonical/read-json.ts'
import { seconds } from '../canonical/time.ts'
import type { Instant } from '../canonical/time.ts'
import { toUtf8 } from '../canonical/utf8.ts'
import { presentedCertificate } from '../artifacts/join-certificate.ts'
import type { JoinCertificate } from '../artifacts/join-certificate.ts'
import { readAttestation } from '../artifacts/attestation.ts'
import type { Attestation } from '../artifacts/attestation.ts'
import { FormError } from '../reading/form-error.ts'
import { readPublicKey } from '../signing/keys.ts'
import { verifySignature } from '../signing/verify.ts'

/** The fields of a request proof (docs/protocol/request-proof.md), in lower case. */
export const PROOF_FIELDS = [
  'chancery-certificate',
  'chancery-audience',
  'content-digest',
  'signature-input',
  'signature',
] as const
/** A proof of profile v2 has this field as well. */
export const ATTESTATION_FIELD = 'chancery-attestation'
export type ProofField = (typeof PROOF_FIELDS)[number] | typeof ATTESTATION_FIELD
export type ProofHeaders = Readonly<Record<(typeof PROOF_FIELDS)[number], string>> & {
  readonly [ATTESTATION_FIELD]?: string
}

/** Longest text of a certificate, and of an attestation. */
export const MAX_CARRIED_CHARACTERS = 8192
/** The name of a service: one word of visible ASCII. */
export const PROOF_AUDIENCE: RegExp = /^[\x21-\x7e]{1,256}$/
/** How far ahead of ours the clock of a node may be. */
const MAX_AHEAD_SECONDS = 30

const COMPONENTS = ['@method', '@request-target', 'content-digest', 'chancery-audience', 'chancery-certificate']

export interface ProofParameters {
  /** Whole seconds since 1970. */
  readonly created: number
  readonly nonce: string
  /** `cert_id` of the certificate. */
  readonly keyId: string
}

/** A proof that is spelled as its profile says. Nothing in it was verified. */
export interface RequestProof {
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

/** What is signed of a request whose proof has these fields, in order, and the number of the profile. */
function signedParts(fields: object): readonly [names: readonly string[], version: 1 | 2] {
  return ATTESTATION_FIELD in fields ? [[...COMPONENTS, ATTESTATION_FIELD], 2] : [COMPONENTS, 1]
}

export function writeProofParameters({ created, nonce, keyId }: ProofParameters, fields: SignedFields): string {
  const [names, version] = signedParts(fields)
  return `("${names.join('" "')}");created=${created};nonce="${nonce}";keyid="${keyId}";alg="ed25519";tag="chancery-node-v${version}"`
}

const NONCE = '[A-Za-z0-9._-]{16,64}'
// A quoted key id holds neither quote nor backslash, so nothing in it has to be unescaped.
const KEY_ID = '[\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]{1,256}'
const PARAMETERS = new RegExp(`^node=.*;created=([1-9][0-9]{0,11});nonce="(${NONCE})";keyid="(${KEY_ID})";alg=`)

export function isKeyIdOfProof(text: string): boolean {
  return new RegExp(`^${KEY_ID}$`).test(text)
}

/** Reads a proof in the one spelling of its profile; undefined for any other. */
export function readRequestProof(headers: ProofHeaders): RequestProof | undefined {
  const { 'signature-input': input, [ATTESTATION_FIELD]: attestation = '' } = headers
  const [, created, nonce, keyId] = PARAMETERS.exec(input) ?? []
  const [, signature] = /^node=:([A-Za-z0-9+/]{86}==):$/.exec(headers.signature) ?? []
  if (created === undefined || nonce === undefined || keyId === undefined || signature === undefined) return undefined
  const parameters = { created: Number(created), nonce, keyId }
  const isSpelled =
    input === `node=${writeProofParameters(parameters, headers)}` &&
    PROOF_AUDIENCE.test(headers['chancery-audience']) &&
    [headers['chancery-certificate'], attestation].every((text) => text.length <= MAX_CARRIED_CHARACTERS)
  return isSpelled ? { headers, parameters, signature } : undefined
}

/** True when the proof is not too old, and not too far ahead. */
export function isProofCurrent({ parameters }: RequestProof, now: Instant, maxAgeSeconds: number): boolean {
  const age = now - seconds(parameters.created)
  return age <= seconds(maxAgeSeconds) && age >= -seconds(MAX_AHEAD_SECONDS)
}

/**
 * The certificate in a proof, when the key that it names signed this request. Whether the certificate is trusted is
 * another question.
 */
export async function verifyRequestProof(
  { headers, parameters, signature }: RequestProof,
  request: SignedRequest,
): Promise<JoinCertificate | 'certificate_malformed' | 'signature_invalid'> {
  const certificate = readCarried(headers['chancery-certificate'], (value) => presentedCertificate(value, ''))
  const key = certificate && readPublicKey(certificate.node_public_key)
  if (certificate?.cert_id !== parameters.keyId || key === undefined) return 'certificate_malformed'
  const base = signatureBase(request, headers, headers['signature-input'].slice('node='.length))
  return (await verifySignature(key, base, signature)) ? certificate : 'signature_invalid'
}

/** The attestation in a proof of profile v2, as it came and as it was read; undefined when it has not its form. */
export function attestationInProof({
  headers,
}: RequestProof): { readonly record: Attestation; readonly wire: JsonValue } | undefined {
  return readCarried(headers[ATTESTATION_FIELD] ?? '', (wire) => ({ record: readAttestation(wire), wire }))
}

/**
 * True when the attestation is about this key. A subject key that differs counts before a subject name that is equal
 * (docs/protocol/request-proof.md, section 4).
 */
export function isAttestationOfKey(
  { subject_public_key, subject_id }: Pick<Attestation, 'subject_public_key' | 'subject_id'>,
  publicKey: string,
): boolean {
  return (subject_public_key ?? subject_id) === publicKey
}

type SignedFields = Omit<ProofHeaders, 'signature' | 'signature-input'>

/** RFC 9421 section 2.5. */
export function signatureBase({ method, target }: SignedRequest, fields: SignedFields, parameters: string): Uint8Array {
  const values: Readonly<Record<string, string>> = { '@method': method, '@request-target': target, ...fields }
  const lines = signedParts(fields)[0].map((name) => `"${name}": ${values[name]}`)
  return toUtf8([...lines, `"@signature-params": ${parameters}`].join('\n'))
}

/** Reads the JSON that a field carries in base64 between colons. */
function readCarried<Value>(text: string, read: (value: JsonValue) => Value): Value | undefined {
  const [, base64 = ''] = /^:([A-Za-z0-9+/]+={0,2}):$/.exec(text) ?? []
  const bytes = fromBase64(base64)
  if (bytes === undefined || bytes.length === 0) return undefined
  try {
    return read(readJsonBytes(bytes))
  } catch (error) {
    if (error instanceof FormError || error instanceof JsonError) return undefined
    throw error
  }
}
