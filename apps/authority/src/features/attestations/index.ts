export { findStanding } from './standing.ts'
export { listRevokedAttestations } from './store.ts'
