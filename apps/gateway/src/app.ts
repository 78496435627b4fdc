import type { AddressInfo } from 'node:net'
import { collectProcessMetrics } from '@chancery/service-kit'
import type { RunningService } from '@chancery/service-kit'
import { operatorEvent } from './audit/operator-event.ts'
import type { Core } from './core.ts'
import { GatewayEdge } from './edge/server.ts'
import { openFeatures } from './features.ts'
import type { Configuration } from './policy/load-configuration.ts'
import type { GatewaySettings } from './settings/gateway-settings.ts'
import { startBackground } from './startup/background.ts'
import { openCore } from './startup/open-core.ts'
import type { CoreOptions } from './startup/open-core.ts'
import { reload } from './startup/reload.ts'

export interface RunningGateway extends RunningService {
  readonly address: AddressInfo
  readonly core: Core
  /** Reads all files again and uses them together, or changes nothing. */
  reload(): Promise<void>
}

/** Opens the core and the features, listens, and starts the jobs. `configuration` is undefined in development mode only. */
export async function startGateway(
  settings: GatewaySettings,
  configuration: Configuration | undefined,
  options: CoreOptions,
): Promise<RunningGateway> {
  const opened = await openCore(settings, configuration, options)
  const { core, access, trust } = opened
  const features = openFeatures(core, { hasTls: configuration?.tls !== undefined })
  const processMetrics = collectProcessMetrics(core.metrics.registry, core.clock)
  const routes = features.flatMap((feature) => feature.routes)
  const edge = new GatewayEdge(core, routes, configuration?.tls)
  const address = await edge.listen(settings.address.host, settings.address.port)
  const jobs = features.flatMap((feature) => feature.jobs)
  const background = startBackground(opened, jobs)
  await core.state?.append(operatorEvent('state_opened', { version: core.version }, core))
  const { development } = settings
  core.log.info('gateway is serving', { host: address.address, port: address.port, development })
  return {
    address,
    core,
    reload: async () => {
      const { refresher } = background
      if (trust === undefined || refresher === undefined) core.log.warn('development mode has nothing to reload')
      else await reload({ core, access, edge, refresher, trust })
    },
    turnNotReady: () => {
      opened.stopServing()
      edge.stopKeepAlive()
    },
    stopAccepting: () => edge.stopAccepting(),
    async close() {
      processMetrics.stop()
      await background.stop()
      for (const feature of features.toReversed()) await feature.close()
      await opened.close()
    },
  }
}
