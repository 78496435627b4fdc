import type { JsonValue } from '../canonical/json-value.ts'
import { type Attestation, readAttestation } from '../artifacts/attestation.ts'
import { MAX_CARRIED_CHARACTERS, PROOF_V1, readCarried, readProofOf } from './request-proof.ts'
import type { ProofHeaders, ProofProfile, RequestProof } from './request-proof.ts'

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
