import { GATEWAY_ROUTES } from '@chancery/contract'
import type { Core, Feature } from '../../core.ts'
import { StoredVerdicts } from '../../trust/stored-verdicts.ts'
import { DecisionCache } from '../decisions/index.ts'
import { AttestationStates } from './attestation-states.ts'
import { introspect } from './introspect.ts'
import { issueToken } from './issue-token.ts'
import { authorizationServer, protectedResource, tokenKeys } from './metadata.ts'
import { refusalResponse } from './refuse.ts'
import { createTokenMetrics } from './token-metrics.ts'
import type { TokenParts } from './token-parts.ts'

export { resourceMetadata } from './metadata.ts'

/** Opens the token endpoint: nodes get access tokens that any OAuth resource server verifies. */
export function openTokens(core: Core): Feature {
  const parts: TokenParts = {
    ...core,
    // A decision of a token is never used again.
    cache: new DecisionCache(core.clock),
    verdicts: new StoredVerdicts(),
    tokens: createTokenMetrics(core),
  }
  const states = new AttestationStates(core)
  return {
    routes: [
      {
        route: GATEWAY_ROUTES.token,
        node: (call) => issueToken(call, parts),
        refuse: (thrown, requestId) => refusalResponse(thrown, requestId, core.log),
      },
      { route: GATEWAY_ROUTES.introspect, client: (call) => introspect(call, states, parts) },
      { route: GATEWAY_ROUTES.tokenKeys, open: tokenKeys },
      { route: GATEWAY_ROUTES.authorizationServer, open: authorizationServer },
      { route: GATEWAY_ROUTES.protectedResource, open: protectedResource },
    ],
    jobs: [],
    close: async () => undefined,
  }
}
