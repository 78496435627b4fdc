export {
  countActiveNodes,
  countCertificates,
  countExpiring,
  listCertificates,
  listDueForListing,
  listOtherCertificates,
  markRevoked,
  raiseReason,
} from './store.ts'
export type { RevocableCertificate } from './store.ts'
