import { PROOF_V1, PROOF_V2 } from '@chancery/protocol'
import type { ProofProfile } from '@chancery/protocol'
import { attestedProofs } from './attested.ts'
import type { AttestedProfile, AttestedProofs } from './verify.ts'

/** The profile with `authorization` as the last signed part (docs/protocol/request-proof.md section 7). */
export function withAuthorization<Profile extends ProofProfile>(profile: Profile): Profile {
  const name = 'authorization'
  return { ...profile, fields: [...profile.fields, name], components: [...profile.components, name] }
}

/** True when a proof says that it covers the field. The signature decides whether it does. */
export function coversAuthorization(signatureInput: string | undefined): boolean {
  return /^node=\([^)]* "authorization"\);/.test(signatureInput ?? '')
}

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
