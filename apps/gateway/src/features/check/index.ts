import type { Core, Feature, FeatureListener } from '../../core.ts'
import type { TlsMaterial } from '../../policy/tls-files.ts'
import { isLoopback } from '../../settings/check-settings.ts'
import { StoredVerdicts } from '../../trust/stored-verdicts.ts'
import { DecisionCache } from '../decisions/index.ts'
import { createCheckListener } from './check-edge.ts'
import { GrpcListener } from './grpc-listener.ts'
import { type CheckParts, ReadCertificates } from './checked-request.ts'

/** All nodes of a site share the stored decisions. */
const MAX_DECISIONS = 10_000

/** Opens the HTTP check: reverse proxies ask whether a request of a node may pass. */
export function openCheck(core: Core, tls: TlsMaterial | undefined): Feature {
  const { checkGrpcAddress } = core.settings
  const parts: CheckParts = {
    ...core,
    cache: new DecisionCache(core.clock, MAX_DECISIONS),
    verdicts: new StoredVerdicts(),
    certificates: new ReadCertificates(),
  }
  const listeners = [
    ...httpListener(parts, tls),
    ...(checkGrpcAddress === undefined ? [] : [new GrpcListener(parts, checkGrpcAddress)]),
  ]
  return { routes: [], jobs: [], listeners, close: async () => undefined }
}

function httpListener(parts: CheckParts, tls: TlsMaterial | undefined): readonly FeatureListener[] {
  const { checkAddress, checkDialect } = parts.settings
  if (checkAddress === undefined || checkDialect === undefined) return []
  const { host, port } = checkAddress
  // The listener of a loopback address has no TLS: only this machine can reach it.
  const edge = createCheckListener(parts, checkDialect, isLoopback(host) ? undefined : tls)
  return [
    {
      name: 'check',
      listen: () => edge.listen(host, port),
      replaceTls: (next) => edge.replaceTls(next),
      stopKeepAlive: () => edge.stopKeepAlive(),
      stopAccepting: () => edge.stopAccepting(),
    },
  ]
}
