import { canonicalJson } from '../canonical/canonical-json.ts'
import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import { type Instant, seconds } from '../canonical/time.ts'
import type { JoinCertificate } from '../artifacts/join-certificate.ts'
import {
  MAX_CARRIED_CHARACTERS,
  PROOF_V1,
  isProofCurrent,
  readCarried,
  readProofOf,
  verifyRequestProof,
} from './request-proof.ts'
import type { ProofHeaders, ProofProfile, RequestProof } from './request-proof.ts'
import { type Attestation, readAttestation } from '../artifacts/attestation.ts'

/** The name of a service: one word of visible ASCII. */
export const PROOF_AUDIENCE: RegExp = /^[\x21-\x7e]{1,256}$/

/** The profile whose proofs carry an attestation of the caller. */
export const PROOF_V2: ProofProfile = {
  fields: [...PROOF_V1.fields, 'chancery-attestation'],
  components: [...PROOF_V1.components, 'chancery-attestation'],
  tag: 'chancery-node-v2',
}

/** The profile with `authorization` as the last signed part (docs/protocol/request-proof.md section 7). */
export function withAuthorization<Profile extends ProofProfile>(profile: Profile): Profile {
  const name = 'authorization'
  return { ...profile, fields: [...profile.fields, name], components: [...profile.components, name] }
}

/** True when a proof says that it covers the field. The signature decides whether it does. */
export function coversAuthorization(signatureInput: string | undefined): boolean {
  return /^node=\([^)]* "authorization"\);/.test(signatureInput ?? '')
}

/**
 * Reads a proof of either profile; undefined when it is spelled as neither. With the value of Authorization among the
 * headers, the proof must cover it.
 */
export function readRequestProof(headers: ProofHeaders): RequestProof | undefined {
  const { 'chancery-audience': audience, 'chancery-attestation': attestation } = headers
  if (!PROOF_AUDIENCE.test(audience)) return undefined
  if (attestation !== undefined && attestation.length > MAX_CARRIED_CHARACTERS) return undefined
  const profile = attestation === undefined ? PROOF_V1 : PROOF_V2
  return readProofOf(headers.authorization === undefined ? profile : withAuthorization(profile), headers)
}

/** The attestation in a proof of profile v2, as it came and as it was read; undefined when it has not its form. */
export function attestationInProof({
  headers,
}: RequestProof): { readonly record: Attestation; readonly wire: JsonValue } | undefined {
  return readCarried(headers['chancery-attestation'] ?? '', (wire) => ({ record: readAttestation(wire), wire }))
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

/** The request proof of a caller, as a relay sends it to its authority: the values it received. */
export type CallerProof = {
  readonly method: string
  readonly request_target: string
  readonly content_digest: string
  readonly audience: string
  readonly certificate: string
  /** Null in profile v1. */
  readonly attestation: string | null
  readonly signature_input: string
  readonly signature: string
}

export type CallerProofReason =
  | 'malformed'
  | 'stale'
  | 'certificate_malformed'
  | 'signature_invalid'
  | 'attestation_mismatch'

/** Maximum age of a proof at the authority: the relay checks it first, within a minute. */
const CALLER_PROOF_AGE_SECONDS = 120

/** The caller that a proof shows, and what is still to be checked: the certificate and the nonce. */
export interface ProvenCaller {
  readonly certificate: JoinCertificate
  readonly audience: string
  readonly nonce: string
  readonly created: Instant
  /** A request proof counts once; a client assertion counts once for each capability. */
  readonly kind: 'request_proof' | 'client_assertion'
}

export type CallerVerdict =
  | { readonly ok: true; readonly caller: ProvenCaller }
  | { readonly ok: false; readonly reason: CallerProofReason }

export interface CallerQuestion {
  readonly asked: AskedAttestation
  readonly now: Instant
}

/** The attestation that the decision is about. */
export type AskedAttestation = { readonly attestation_id: string } | { readonly presented: JsonValue }

/** Checks the proof of a caller as far as no state is needed. The first failure decides. */
export async function verifyCallerProof(given: JsonValue, { asked, now }: CallerQuestion): Promise<CallerVerdict> {
  const received = isJsonObject(given) && isCallerProof(given) ? given : undefined
  const proof = received && readRequestProof(headersOf(received))
  if (received === undefined || proof === undefined) return { ok: false, reason: 'malformed' }
  if (!isProofCurrent(proof, now, CALLER_PROOF_AGE_SECONDS)) return { ok: false, reason: 'stale' }
  const certificate = await verifyRequestProof(proof, { method: received.method, target: received.request_target })
  if (typeof certificate === 'string') return { ok: false, reason: certificate }
  if (received.attestation !== null && !isAskedAttestation(attestationInProof(proof), asked))
    return { ok: false, reason: 'attestation_mismatch' }
  const { nonce, created } = proof.parameters
  const { audience } = received
  return { ok: true, caller: { certificate, audience, nonce, created: seconds(created), kind: 'request_proof' } }
}

function headersOf(proof: CallerProof): RequestProof['headers'] {
  return {
    'chancery-certificate': proof.certificate,
    'chancery-audience': proof.audience,
    'content-digest': proof.content_digest,
    'signature-input': proof.signature_input,
    signature: proof.signature,
    ...(proof.attestation === null ? {} : { 'chancery-attestation': proof.attestation }),
  }
}

/** One spelling for each member. None may contain a line break, which would add a line to the signed text. */
const SPELLING: Readonly<Record<keyof CallerProof, RegExp>> = {
  method: /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/,
  request_target: /^[^\s\p{Cc}]+$/u,
  content_digest: /^sha-256=:[A-Za-z0-9+/]{43}=:$/,
  audience: /^[\x21-\x7e]{1,256}$/,
  certificate: /^:[A-Za-z0-9+/]+={0,2}:$/,
  attestation: /^:[A-Za-z0-9+/]+={0,2}:$/,
  signature_input: /^node=/,
  signature: /^node=:/,
}

function isCallerProof(given: JsonObject): given is JsonObject & CallerProof {
  if (Object.keys(given).length !== Object.keys(SPELLING).length) return false
  return Object.entries(SPELLING).every(([name, spelling]) => {
    const value = member(given, name)
    if (value === null) return name === 'attestation'
    return typeof value === 'string' && value.length <= MAX_CARRIED_CHARACTERS && spelling.test(value)
  })
}

/** True when what a proof carries is the attestation that the decision is about. */
export function isAskedAttestation(
  carried: { readonly record: Attestation; readonly wire: JsonValue } | undefined,
  asked: AskedAttestation,
): boolean {
  if (carried === undefined) return false
  if ('attestation_id' in asked) return carried.record.attestation_id === asked.attestation_id
  return canonicalJson(carried.wire) === canonicalJson(asked.presented)
}
