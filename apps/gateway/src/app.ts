import type { AddressInfo } from 'node:net'
import { type Job, type RunningService, collectProcessMetrics } from '@chancery/service-kit'
import type { Core, FeatureListener, Feature } from './core.ts'
import { type GatewayListener, createGatewayListener } from './edge/server.ts'
import type { Configuration } from './policy/load-configuration.ts'
import type { GatewaySettings } from './settings/gateway-settings.ts'
import { recordOpening, startBackground } from './startup/background.ts'
import { type CoreOptions, type OpenedCore, openCore } from './startup/open-core.ts'
import { reload } from './startup/reload.ts'
import type { TlsMaterial } from './policy/tls-files.ts'
import { openCheck } from './features/check/index.ts'
import { openConsole } from './features/console/index.ts'
import { openDecisions } from './features/decisions/index.ts'
import { openMesh } from './features/mesh/index.ts'
import { openOperations } from './features/operations/index.ts'
import { openProxy } from './features/proxy/index.ts'
import { openTokens } from './features/tokens/index.ts'
import { openVerify } from './features/verify/index.ts'

export interface FeatureOptions {
  readonly tls: TlsMaterial | undefined
}

/** Opens every feature of this release. */
export function openFeatures(core: Core, { tls }: FeatureOptions): readonly Feature[] {
  return [
    openConsole(),
    openVerify(core),
    openOperations({ ...core, hasTls: tls !== undefined }),
    openProxy(core),
    openMesh(core),
    openDecisions(core),
    openCheck(core, tls),
    openTokens(core),
  ]
}

export interface RunningGateway extends RunningService {
  readonly address: AddressInfo
  /** Listeners of features, by name. */
  readonly listening: Readonly<Partial<Record<FeatureListener['name'], AddressInfo>>>
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
  const served = await serveGateway(opened, configuration)
  const { listeners } = served
  const background = startBackground(opened, served.jobs)
  await recordOpening(opened)
  served.logServing()
  return {
    ...served.running(() => background.stop()),
    reload: async () => {
      const { refresher } = background
      if (trust === undefined || refresher === undefined) core.log.warn('development mode has nothing to reload')
      else await reload({ core, access, listeners, refresher, trust })
    },
  }
}

interface ServedGateway {
  readonly listeners: readonly Pick<GatewayListener, 'replaceTls'>[]
  /** Jobs of the features. */
  readonly jobs: readonly Job[]
  logServing(): void
  running(stopBackground: () => Promise<void>): Omit<RunningGateway, 'reload'>
}

/** Opens the features on a core and listens. */
export async function serveGateway(
  opened: Omit<OpenedCore, 'trust'>,
  configuration: Configuration | undefined,
): Promise<ServedGateway> {
  const { core } = opened
  const { settings } = core
  const features = openFeatures(core, { tls: configuration?.tls })
  const processMetrics = collectProcessMetrics(core.metrics.registry, core.clock)
  const routes = features.flatMap((feature) => feature.routes)
  const edge = createGatewayListener(core, routes, configuration?.tls)
  const address = await edge.listen(settings.address.host, settings.address.port)
  const listeners = features.flatMap((feature) => feature.listeners ?? [])
  const listening: Partial<Record<FeatureListener['name'], AddressInfo>> = {}
  for (const each of listeners) listening[each.name] = await each.listen()
  return {
    listeners: [edge, ...listeners],
    jobs: features.flatMap((feature) => feature.jobs),
    logServing: () => {
      const { development } = settings
      core.log.info('gateway is serving', { host: address.address, port: address.port, development })
      for (const [name, { address: host, port }] of Object.entries(listening))
        core.log.info('gateway answers checks', { listener: name, host, port })
    },
    running: (stopBackground) => ({
      address,
      listening,
      core,
      turnNotReady: () => {
        opened.stopServing()
        for (const each of [edge, ...listeners]) each.stopKeepAlive()
      },
      stopAccepting: async () => {
        await Promise.all([edge, ...listeners].map((each) => each.stopAccepting()))
      },
      async close() {
        processMetrics.stop()
        await stopBackground()
        for (const feature of features.toReversed()) await feature.close()
        await opened.close()
      },
    }),
  }
}
