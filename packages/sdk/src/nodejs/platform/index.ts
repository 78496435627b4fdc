/**
 * Tokens of platforms, for nodes that join without an invite: import it as `@chancery/sdk/platform`. For Node.js;
 * it reads files, environment variables and the SPIFFE Workload API.
 */
export { PlatformError } from '../../node/evidence.ts'
export { githubToken, gitlabToken, kubernetesToken } from './token-sources.ts'
export { spiffeJwt, spiffeX509 } from './workload-api.ts'
export type { WorkloadApiOptions } from './workload-api.ts'
export type { PlatformAudience, PlatformSource, PlatformEvidence } from '../../node/evidence.ts'
