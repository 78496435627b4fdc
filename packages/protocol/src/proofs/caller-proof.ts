import { canonicalJson } from '../canonical/canonical-json.ts'
import { isJsonObject, member } from '../canonical/json-value.ts'
import type { JsonObject, JsonValue } from '../canonical/json-value.ts'
import { seconds } from '../canonical/time.ts'
import type { Instant } from '../canonical/time.ts'
import type { JoinCertificate } from '../artifacts/join-certificate.ts'
import { readPublicKey } from '../signing/keys.ts'
import { verifySignature } from '../signing/verify.ts'
import {
  ATTESTATION_FIELD,
  MAX_AHEAD_SECONDS,
  MAX_PROOF_RECORD_CHARACTERS,
  readParameters,
  readProofCertificate,
  readProofRecord,
  readProofSignature,
  signatureBase,
} from './request-proof.ts'
import type { ProofParameters } from './request-proof.ts'

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
  const read = readCallerProof(given)
  if (read === undefined) return { ok: false, reason: 'malformed' }
  const { proof, parameters, signature } = read
  const created = seconds(parameters.created)
  if (now - created > seconds(CALLER_PROOF_AGE_SECONDS) || created - now > seconds(MAX_AHEAD_SECONDS))
    return { ok: false, reason: 'stale' }
  const certificate = readProofCertificate(proof.certificate)
  const key = certificate === undefined ? undefined : readPublicKey(certificate.node_public_key)
  if (certificate === undefined || key === undefined || certificate.cert_id !== parameters.keyId)
    return { ok: false, reason: 'certificate_malformed' }
  const base = signatureBase(
    { method: proof.method, target: proof.request_target },
    {
      'content-digest': proof.content_digest,
      'chancery-audience': proof.audience,
      'chancery-certificate': proof.certificate,
      [ATTESTATION_FIELD]: proof.attestation ?? undefined,
    },
    proof.signature_input.slice(LABEL.length),
  )
  if (!(await verifySignature(key, base, signature))) return { ok: false, reason: 'signature_invalid' }
  if (proof.attestation !== null && !isAsked(proof.attestation, asked))
    return { ok: false, reason: 'attestation_mismatch' }
  return { ok: true, caller: { certificate, audience: proof.audience, nonce: parameters.nonce, created } }
}

const LABEL = 'node='

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

function readCallerProof(
  given: JsonValue,
): { readonly proof: CallerProof; readonly parameters: ProofParameters; readonly signature: string } | undefined {
  if (!isJsonObject(given) || !isCallerProof(given)) return undefined
  const proof = given
  const parameters = readParameters(proof.signature_input.slice(LABEL.length))
  const signature = readProofSignature(proof.signature)
  if (parameters === undefined || signature === undefined) return undefined
  if ((parameters.profile === 'v2') !== (proof.attestation !== null)) return undefined
  return { proof, parameters, signature }
}

function isCallerProof(given: JsonObject): given is JsonObject & CallerProof {
  if (Object.keys(given).length !== Object.keys(SPELLING).length) return false
  return Object.entries(SPELLING).every(([name, spelling]) => {
    const value = member(given, name)
    if (value === null) return name === 'attestation'
    return typeof value === 'string' && value.length <= MAX_PROOF_RECORD_CHARACTERS && spelling.test(value)
  })
}

function isAsked(text: string, asked: AskedAttestation): boolean {
  const record = readProofRecord(text)
  if (!isJsonObject(record)) return false
  if ('attestation_id' in asked) return member(record, 'attestation_id') === asked.attestation_id
  return canonicalJson(record) === canonicalJson(asked.presented)
}
