/** Agent cards of the A2A protocol: import it as `@chancery/sdk/a2a`. It needs no package of A2A. */
export { CardFormError, signAgentCard } from './sign.ts'
export { verifyAgentCard } from './verify.ts'
export type { CardPartner, CardRefusal, CardTrust, CardVerdict, RefusedCard, SignedCard } from './verify.ts'
export type { CertificateTrust, CertificateVerdict } from '../trust/certificate-verdict.ts'
export type * from '../record-types.ts'
