export { StandingDesk } from './standing.ts'
export { listRevokedAttestations, markAttestationRevoked } from './store.ts'
