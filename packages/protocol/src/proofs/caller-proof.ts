import { canonicalJson } from '../canonical/canonical-json.ts'
import { type JsonObject, type JsonValue, isJsonObject, member } from '../canonical/json-value.ts'
import { type Instant, seconds } from '../canonical/time.ts'
import type { JoinCertificate } from '../artifacts/join-certificate.ts'
import { attestationInProof, readRequestProof } from './attested-proof.ts'
import { MAX_CARRIED_CHARACTERS, type RequestProof, isProofCurrent, verifyRequestProof } from './request-proof.ts'

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
export const CALLER_PROOF_AGE_SECONDS = 120

/** The caller that a proof shows, and what is still to be checked: the certificate and the nonce. */
export interface ProvenCaller {
  readonly certificate: JoinCertificate
  readonly audience: string
  readonly nonce: string
  readonly created: Instant
}

/** The attestation that the decision is about. */
export type AskedAttestation = { readonly attestation_id: string } | { readonly presented: JsonValue }

/** Checks the proof of a caller as far as no state is needed. The first failure decides. */
export async function verifyCallerProof(
  given: JsonValue,
  { asked, now }: { readonly asked: AskedAttestation; readonly now: Instant },
): Promise<
  { readonly ok: true; readonly caller: ProvenCaller } | { readonly ok: false; readonly reason: CallerProofReason }
> {
  const received = isJsonObject(given) && isCallerProof(given) ? given : undefined
  const proof = received && readRequestProof(headersOf(received))
  if (received === undefined || proof === undefined) return { ok: false, reason: 'malformed' }
  if (!isProofCurrent(proof, now, CALLER_PROOF_AGE_SECONDS)) return { ok: false, reason: 'stale' }
  const certificate = await verifyRequestProof(proof, { method: received.method, target: received.request_target })
  if (typeof certificate === 'string') return { ok: false, reason: certificate }
  if (received.attestation !== null && !isAsked(proof, asked)) return { ok: false, reason: 'attestation_mismatch' }
  const { nonce, created } = proof.parameters
  return { ok: true, caller: { certificate, audience: received.audience, nonce, created: seconds(created) } }
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

function isAsked(proof: RequestProof, asked: AskedAttestation): boolean {
  const carried = attestationInProof(proof)
  if (carried === undefined) return false
  if ('attestation_id' in asked) return carried.record.attestation_id === asked.attestation_id
  return canonicalJson(carried.wire) === canonicalJson(asked.presented)
}
