export {
  countActiveNodes,
  countCertificates,
  listCertificates,
  listDueForListing,
  listOtherCertificates,
  markRevoked,
  raiseReason,
} from './store.ts'
export type { RevocableCertificate } from './store.ts'
