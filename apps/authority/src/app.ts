import { signatureLibrary } from '@chancery/protocol'
import { collectProcessMetrics, installCommand, startJobs } from '@chancery/service-kit'
import type { JobTools, RunningService } from '@chancery/service-kit'
import { withdraw } from './auth/operator-keys-check.ts'
import { noteChanges } from './auth/replica-routes.ts'
import type { Core } from './core.ts'
import { type Features, bindingsOf, closeFeatures, jobsOf, openFeatures } from './features.ts'
import { registerLoadGauges } from './features/health/gauges.ts'
import type { AuthoritySettings } from './settings/authority-settings.ts'
import { coreJobs } from './startup/core-jobs.ts'
import { isOutage } from './startup/is-outage.ts'
import { keepReserve, reserveJob } from './startup/keep-reserve.ts'
import { buildServer, callsWaiting, jobsWaiting, openListeners } from './startup/listeners.ts'
import { jobsOfWorker } from './startup/worker-jobs.ts'
import { type AppParts, openCore } from './startup/open-core.ts'

export interface RunningAuthority extends RunningService {
  readonly url: string
  /** The port of the management listener. Undefined without one. */
  readonly managementUrl: string | undefined
  readonly core: Core
  readonly features: Features
}

/** Opens core and features, listens, and starts the jobs. */
export async function startAuthority(settings: AuthoritySettings, options: AppParts): Promise<RunningAuthority> {
  let serving = true
  const opened = await openCore(settings, { ...options, isServing: () => serving })
  const { core } = opened
  if (options.service !== undefined) await keepReserve(core, settings)
  const features = openFeatures(core, settings)
  const { clock, log, metrics } = core
  options.worker?.shareMetrics(metrics.registry)
  const close = async (): Promise<void> => {
    await closeFeatures(features)
    await opened.close()
  }
  features.health.registerGauges()
  const watch = collectProcessMetrics(metrics.registry, clock)
  const parts = { ...core, settings }
  const bindings = bindingsOf(features, settings)
  const server = buildServer(parts, noteChanges(callsWaiting(bindings.open, core.gates), core))
  registerLoadGauges(metrics, () => server.load())
  await features.keySuccession.enter()
  const opening = core.newestBlock.read().then(() => openListeners(parts, server, bindings.management))
  const { url, management } = await opening.catch(async (error: unknown) => {
    watch.stop()
    await leave(core)
    await close()
    throw error
  })
  const reserve = options.service !== undefined ? [reserveJob(core, settings)] : []
  const all = jobsWaiting([...coreJobs(core, settings), ...reserve, ...jobsOf(features, core)], core.gates)
  const jobs = startJobs(jobsOfWorker(all, options.worker), jobTools(core, features))
  log.info('authority is serving', {
    url,
    ...(management === undefined ? {} : { management_url: management.url }),
    instance: core.instance,
    sovereign: core.network.name,
    backend: core.database.engine,
    ed25519: signatureLibrary(),
  })
  if (signatureLibrary() !== 'libsodium' && process.env['CHANCERY_NATIVE'] !== 'off')
    log.info('signatures take half the processor time with libsodium', { install: installCommand('sodium') })
  return {
    url,
    managementUrl: management?.url,
    core,
    features,
    turnNotReady: () => {
      serving = false
      server.stopKeepAlive()
    },
    stopAccepting: () => server.stopAccepting(),
    async close() {
      // Last, so that monitoring sees this instance until the end.
      await management?.server.stopAccepting()
      watch.stop()
      await jobs.stop()
      await writeLastMark(core)
      await leave(core)
      await close()
    },
  }
}

async function leave(core: Core): Promise<void> {
  await withdraw(core).catch((error: unknown) =>
    core.log.warn('this instance is counted for three more minutes', { error }),
  )
}

/** A job does not report a failure that readiness reports. */
function jobTools({ clock, log, metrics, signing }: Core, { health }: Features): JobTools {
  const parts = { signing, databaseProbe: health.databaseProbe }
  return { clock, log, metrics: metrics.registry, isOutage: (failure) => isOutage(failure, parts) }
}

/**
 * Writes the state since the last mark, so that a backup restored after this stop is detected. The job that writes the
 * mark runs only every five seconds.
 */
async function writeLastMark({ rollback, log }: Pick<Core, 'rollback' | 'log'>): Promise<void> {
  try {
    await rollback.writeMark()
  } catch (error) {
    log.warn('high-water mark not written at the stop', { error })
  }
}
