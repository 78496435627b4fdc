/**
 * Evidence of platforms, for nodes that join without an invite: import it as `@chancery/sdk/evidence`. For Node.js;
 * it reads files, environment variables and the SPIFFE Workload API.
 */
export { EvidenceError } from '../../node/evidence.ts'
export { fileEvidence, githubEvidence } from './token-sources.ts'
export { fetchJwtSvid, fetchX509Svid, spiffeJwtEvidence, spiffeX509Evidence } from './workload-api.ts'
export type { JwtSvid, WorkloadApiOptions, X509Svid } from './workload-api.ts'
export type { EvidenceAudience, EvidenceSource, NodeEvidence } from '../../node/evidence.ts'
export type * from '../../record-types.ts'
