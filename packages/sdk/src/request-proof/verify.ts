import {
  MAX_CARRIED_CHARACTERS,
  PROOF_V1,
  PROOF_V2,
  attestationInProof,
  contentDigest,
  coversAuthorization,
  isAttestationOfKey,
  isProofCurrent,
  readProofOf,
  seconds,
  verifyRequestProof,
  withAuthorization,
} from '@chancery/protocol'
import type {
  Attestation,
  Instant,
  JoinCertificate,
  ProofField,
  ProofHeaders,
  ProofParameters,
  ProofProfile,
  RequestProof,
} from '@chancery/protocol'
import type { CertificateVerdict } from '../trust/certificate-verdict.ts'
import { type Time, timeOf } from '../trust/signing-time.ts'
import type { Caller } from './caller.ts'
import type { NonceStore } from './nonces.ts'

/** How old a proof may be. */
const MAX_AGE_SECONDS = 60

export type ProofRefusal =
  | 'proof_missing'
  | 'proof_malformed'
  | 'wrong_audience'
  | 'proof_stale'
  | 'digest_mismatch'
  | 'certificate_malformed'
  | 'signature_invalid'
  | AttestationRefusal
  | 'certificate_untrusted'
  | 'proof_replayed'
  | 'nonces_unavailable'
  | 'body_too_large'
  /** Of the options and profiles of a middleware. */
  | 'authorization_not_covered'
  | 'target_unknown'
  | 'trust_unavailable'
  | 'wit_malformed'
  | 'wit_expired'
  | 'wit_untrusted'

export type AttestationRefusal = 'attestation_malformed' | 'attestation_not_bound' | 'attestation_issuer_mismatch'

/** A request as it arrived. */
export interface IncomingRequest {
  readonly method: string
  /** Path and query as in the request line. */
  readonly target: string
  /** All values of a field, as they came; a repeated field is refused. */
  readonly field: (name: ProofField) => readonly string[]
  /**
   * The body, or a function that reads it last, after all other checks, so that no unauthenticated body is
   * stored. Undefined when it is longer than the service accepts.
   */
  readonly body: Uint8Array | (() => Promise<Uint8Array | undefined>)
}

export interface ProofPolicy {
  /** The name this service goes by. */
  readonly audience: string
  /** Verifies the certificate: a {@link RelyingParty}, or a call to a gateway. */
  readonly evaluate: (certificate: JoinCertificate, at: Instant) => Promise<CertificateVerdict>
  readonly nonces: NonceStore
  /** The clock of this machine when not given. */
  readonly at?: Time
}

interface AttestedProfile extends ProofProfile {
  /** The attestation in a proof whose signature verified, or why it is not one of this caller. */
  readonly attestationOf?: (
    proof: RequestProof,
    certificate: JoinCertificate,
  ) => Attestation | AttestationRefusal | 'proof_malformed'
}

type PolicyNow = Omit<ProofPolicy, 'at'> & { readonly now: Instant }

export type ProofVerdict =
  | {
      readonly valid: true
      readonly caller: Caller
      /** What the proof does not show. A service asks its authority about the attestation of profile v2. */
      readonly unproven: readonly 'attestation_signature'[]
    }
  | { readonly valid: false; readonly reason: ProofRefusal; readonly verdict?: CertificateVerdict }

/** Checks a request proof in the order of docs/protocol/request-proof.md section 3. Never throws on what arrived. */
export async function verifyRequest(request: IncomingRequest, given: ProofPolicy): Promise<ProofVerdict> {
  const policy = { ...given, now: timeOf(given.at) }
  const profile = profileOf(request.field)
  const proof = readProof(request, profile)
  if (typeof proof === 'string') return { valid: false, reason: proof }
  const { headers, parameters } = proof
  const reason = checkClaims(request, policy, proof)
  if (reason !== undefined) return { valid: false, reason }
  const certificate = await verifyRequestProof(proof, request)
  if (typeof certificate === 'string') return { valid: false, reason: certificate }
  const attestation = profile.attestationOf?.(proof, certificate)
  if (typeof attestation === 'string') return { valid: false, reason: attestation }
  const verdict = await policy.evaluate(certificate, policy.now)
  if (!verdict.trusted) return { valid: false, reason: 'certificate_untrusted', verdict }
  const used = await claim(certificate, parameters, policy)
  if (used !== undefined) return { valid: false, reason: used }
  const unread = typeof request.body === 'function' ? checkBody(await request.body(), headers) : undefined
  if (unread !== undefined) return { valid: false, reason: unread }
  const { node_public_key: publicKey, network_name: network, roles } = certificate
  const { method, target } = request
  const caller = { publicKey, network, roles, certificate, attestation, proof: { method, target, headers } }
  return { valid: true, caller, unproven: attestation === undefined ? [] : ['attestation_signature'] }
}

function readProof(
  { field }: IncomingRequest,
  profile: ProofProfile,
): RequestProof | 'proof_missing' | 'proof_malformed' {
  const values = profile.fields.map((name) => [name, field(name)] as const)
  if (values.every(([, found]) => found.length === 0)) return 'proof_missing'
  if (values.some(([, found]) => found.length !== 1)) return 'proof_malformed'
  const headers = Object.fromEntries(values.map(([name, [value = '']]) => [name, value])) as ProofHeaders
  return readProofOf(profile, headers) ?? 'proof_malformed'
}

function checkClaims(
  { body }: IncomingRequest,
  { audience, now }: PolicyNow,
  proof: RequestProof,
): ProofRefusal | undefined {
  if (proof.headers['chancery-audience'] !== audience) return 'wrong_audience'
  if (!isProofCurrent(proof, now, MAX_AGE_SECONDS)) return 'proof_stale'
  return typeof body === 'function' ? undefined : checkBody(body, proof.headers)
}

function checkBody(body: Uint8Array | undefined, headers: ProofHeaders): ProofRefusal | undefined {
  if (body === undefined) return 'body_too_large'
  return headers['content-digest'] === contentDigest(body) ? undefined : 'digest_mismatch'
}

async function claim(
  { node_public_key: key }: JoinCertificate,
  { created, nonce }: ProofParameters,
  { nonces, now }: PolicyNow,
): Promise<'proof_replayed' | 'nonces_unavailable' | undefined> {
  try {
    const isNew = await nonces.claim(`${key} ${nonce}`, seconds(created + MAX_AGE_SECONDS), now)
    return isNew ? undefined : 'proof_replayed'
  } catch {
    return 'nonces_unavailable'
  }
}

const ATTESTED: AttestedProfile = {
  ...PROOF_V2,
  attestationOf: (proof, { node_public_key, network_name }) => {
    if ((proof.headers['chancery-attestation'] ?? '').length > MAX_CARRIED_CHARACTERS) return 'proof_malformed'
    const attestation = attestationInProof(proof)?.record
    if (attestation === undefined) return 'attestation_malformed'
    if (!isAttestationOfKey(attestation, node_public_key)) return 'attestation_not_bound'
    return attestation.issuer_sovereign_id === network_name ? attestation : 'attestation_issuer_mismatch'
  },
}

/** Profile v2 has an attestation of the caller by its own network. Proofs of both may cover `authorization`. */
function profileOf(field: IncomingRequest['field']): AttestedProfile {
  const profile: AttestedProfile = field('chancery-attestation').length === 0 ? PROOF_V1 : ATTESTED
  const [input] = field('signature-input')
  return coversAuthorization(input) ? withAuthorization(profile) : profile
}

/** The profile to sign with. */
export function profileToSign(isAttested: boolean, isCovered: boolean): ProofProfile {
  const profile = isAttested ? PROOF_V2 : PROOF_V1
  return isCovered ? withAuthorization(profile) : profile
}
