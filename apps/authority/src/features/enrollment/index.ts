export {
  countActiveNodes,
  countExpiring,
  listCertificates,
  listDueForListing,
  listOtherCertificates,
  markRevoked,
  raiseReason,
} from './store.ts'
export { readCountedNodes } from './counted-nodes.ts'
export { withdrawInvites } from './invite-withdraw.ts'
export { countOpen as countOpenInvites } from './invite-store.ts'
export type { RevocableCertificate } from './store.ts'
