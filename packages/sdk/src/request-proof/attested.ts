import { MAX_CARRIED_CHARACTERS, PROOF_V2, attestationInProof, isAttestationOfKey } from '@chancery/protocol'
import type { AttestedProfile, AttestedProofs } from './verify.ts'

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

/** For `verifyRequest`: accepts proofs of profile v2 too, with an attestation of the caller by its own network. */
export const attestedProofs: AttestedProofs = (field) =>
  field('chancery-attestation').length === 0 ? undefined : ATTESTED
