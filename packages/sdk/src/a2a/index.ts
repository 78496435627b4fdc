/** Agent cards of A2A 1.0: import it as `@chancery/sdk/a2a`. It needs no A2A package. Beta. */
export { CERTIFICATE_EXTENSION, DESCRIPTOR_EXTENSION, carriedBytes, carriedRecord, extensionsOf } from './extensions.ts'
export { canonicalCard, cardProblems } from './form.ts'
export { openTreatyParty } from './treaty-party.ts'
export { CardFormError, signAgentCard } from './sign.ts'
export type { CardSigner } from './sign.ts'
export { readSignedCard, verifyAgentCard } from './verify.ts'
export type {
  CardPartner,
  CardRefusal,
  CardTrust,
  CardVerdict,
  CertificateTrust,
  RefusedCard,
  SignedCard,
} from './verify.ts'
export type * from '../record-types.ts'
