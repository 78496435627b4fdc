/** The profile of WIMSE (docs/protocol/wimse.md): import it as `@chancery/sdk/wimse`. Beta. */
export { signWimseRequest, verifyWimse, wimse } from '../request-proof/wimse.ts'
export type {
  AcceptedWimse,
  WimseIdentity,
  WimseNetworkIdentity,
  WimseProofPolicy,
  WimseRequest,
} from '../request-proof/wimse.ts'
export type { AnyFieldRequest, ProofProfile } from '../request-proof/profile.ts'
export type { RequestToSign } from '../request-proof/target.ts'
export type { ProofVerdict } from '../request-proof/verify.ts'
export type { NetworkIdentity } from '../trust/identity.ts'
