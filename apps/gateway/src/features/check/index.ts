import type { Core, Feature, FeatureListener } from '../../core.ts'
import type { TlsMaterial } from '../../policy/tls-files.ts'
import { isLoopback } from '../../settings/gateway-settings.ts'
import { DecisionCache } from '../decisions/index.ts'
import { CheckEdge } from './check-edge.ts'
import type { CheckParts } from './parts.ts'

/** All nodes of a site share the stored decisions. */
const MAX_DECISIONS = 10_000

/** Opens the HTTP check: reverse proxies ask whether a request of a node may pass. */
export function openCheck(core: Core, tls: TlsMaterial | undefined): Feature {
  const { checkAddress, checkDialect } = core.settings
  if (checkAddress === undefined || checkDialect === undefined)
    return { routes: [], jobs: [], close: async () => undefined }
  const parts: CheckParts = { ...core, cache: new DecisionCache(core.clock, MAX_DECISIONS) }
  // The listener of a loopback address has no TLS: only this machine can reach it.
  const edge = new CheckEdge(parts, { dialect: checkDialect, tls: isLoopback(checkAddress.host) ? undefined : tls })
  const listener: FeatureListener = {
    name: 'check',
    listen: () => edge.listen(checkAddress.host, checkAddress.port),
    replaceTls: (next) => edge.replaceTls(next),
    stopKeepAlive: () => edge.stopKeepAlive(),
    stopAccepting: () => edge.stopAccepting(),
  }
  return { routes: [], jobs: [], listeners: [listener], close: async () => undefined }
}
