export { StandingDesk } from './standing.ts'
export { listRevokedAttestations } from './store.ts'
