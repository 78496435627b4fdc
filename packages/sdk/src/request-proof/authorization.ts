import { PROOF_V1, PROOF_V2, type ProofProfile, coversAuthorization, withAuthorization } from '@chancery/protocol'
import { attestedProofs } from './attested.ts'
import type { AttestedProfile, AttestedProofs } from './verify.ts'

/** For `verifyRequest`: accepts proofs of profile v2, and proofs of both profiles that cover `authorization`. */
export const allProofs: AttestedProofs = (field) => {
  const attested: AttestedProfile | undefined = attestedProofs(field)
  const [input] = field('signature-input')
  return coversAuthorization(input) ? withAuthorization(attested ?? PROOF_V1) : attested
}

/** The profile to sign with. */
export function profileToSign(isAttested: boolean, isCovered: boolean): ProofProfile {
  const profile = isAttested ? PROOF_V2 : PROOF_V1
  return isCovered ? withAuthorization(profile) : profile
}
