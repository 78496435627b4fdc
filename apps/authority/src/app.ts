import { StartError } from '@chancery/service-kit'
import { Refusal } from '@chancery/contract'
import { TooManyChecks, signatureLibrary } from '@chancery/protocol'
import {
  AccessLog,
  BatchClosedError,
  BatchFullError,
  LimiterUnavailableError,
  createServer,
  startJobs,
  collectProcessMetrics,
} from '@chancery/service-kit'
import type { Binding, HttpServer, RunningService } from '@chancery/service-kit'
import { guardFor } from './auth/access.ts'
import type { Core } from './core.ts'
import { bindingsOf, closeFeatures, jobsOf, openFeatures } from './features.ts'
import type { Features } from './features.ts'
import { registerLoadGauges } from './features/health/gauges.ts'
import { coreJobs } from './startup/core-jobs.ts'
import { openCore } from './startup/open-core.ts'
import type { AppParts } from './startup/open-core.ts'
import type { AuthoritySettings } from './settings/authority-settings.ts'
import { UnknownOutcomeError } from './database/database.ts'
import { translateDatabaseError } from './database/open.ts'

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
  const features = openFeatures(core, settings)
  const { clock, log, metrics } = core
  const close = async (): Promise<void> => {
    await closeFeatures(features)
    await opened.close()
  }
  features.health.registerGauges()
  const watch = collectProcessMetrics(metrics.registry, clock)
  const parts = { ...core, settings }
  const bindings = bindingsOf(features, settings)
  const server = buildServer(parts, bindings.open)
  registerLoadGauges(metrics, () => server.load())
  const { url, management } = await openListeners(parts, server, bindings.management).catch(async (error: unknown) => {
    watch.stop()
    await close()
    throw error
  })
  const jobs = startJobs([...coreJobs(core, settings), ...jobsOf(features, core)], {
    clock,
    log,
    metrics: metrics.registry,
  })
  log.info('authority is serving', {
    url,
    ...(management === undefined ? {} : { management_url: management.url }),
    instance: core.instance,
    sovereign: core.network.name,
    backend: core.database.engine,
    ed25519: signatureLibrary,
  })
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
      await close()
    },
  }
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

interface EdgeParts extends Core {
  readonly settings: AuthoritySettings
}

/** The address of a listener, and its setting. */
interface ListenAddress {
  readonly name: string
  readonly host: string
  readonly port: number
}

interface Listeners {
  readonly url: string
  readonly management: { readonly server: HttpServer; readonly url: string } | undefined
}

/**
 * Opens both listeners or none. The management listener is first, so that an authority that cannot start serves no
 * requests.
 */
async function openListeners(
  parts: EdgeParts,
  server: HttpServer,
  inside: readonly Binding<unknown>[],
): Promise<Listeners> {
  const { host, port } = parts.settings
  const management = await openManagement(parts, inside)
  try {
    return { url: await listen(server, { name: 'PORT', host, port }), management }
  } catch (error) {
    await management?.server.stopAccepting()
    throw error
  }
}

/** Opens the management listener, if configured. */
async function openManagement(
  parts: EdgeParts,
  bindings: readonly Binding<unknown>[],
): Promise<Listeners['management']> {
  const { managementHost: host, managementPort: port } = parts.settings
  if (port === undefined) return undefined
  const server = buildServer(parts, bindings)
  return { server, url: await listen(server, { name: 'NA_MANAGEMENT_PORT', host, port }) }
}

async function listen(server: HttpServer, { name, host, port }: ListenAddress): Promise<string> {
  try {
    return await server.listen(host, port)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const reason = LISTEN_FAILURES.get(code)
    if (reason === undefined) throw error
    throw new StartError(`${name}: ${port} ${reason(host)}`, { cause: error })
  }
}

const LISTEN_FAILURES: ReadonlyMap<string, (host: string) => string> = new Map([
  ['EADDRINUSE', (host) => `is in use on ${host}: stop what listens there, or choose another port`],
  ['EACCES', (host) => `may not be opened on ${host} by this user: choose a port above 1023`],
  ['EADDRNOTAVAIL', (host) => `cannot be opened on ${host}: it is not an address of this machine`],
])

function buildServer(parts: EdgeParts, bindings: readonly Binding<unknown>[]): HttpServer {
  return createServer({
    bindings,
    context: undefined,
    guard: guardFor(parts),
    ids: parts.ids,
    log: parts.log,
    proxyHops: parts.settings.proxyHops,
    maxRequestBytes: parts.settings.maxRequestBytes,
    translate,
    missing: { prefix: '/operator-console-static/', code: 'asset_not_found' },
    access: accessLogOf(parts),
    observe: (route, status, seconds) => parts.metrics.requests.observe(route?.id ?? 'none', status, seconds),
  })
}

function accessLogOf({ log, instance, settings }: EdgeParts): AccessLog {
  const { accessLogLevel: level, accessLogEvery: every, accessLogSlowMs: slowMs } = settings
  return new AccessLog({ log, instance, level, every, slowMs })
}

/**
 * Converts internal errors to refusals. An unknown outcome of a COMMIT is reported, so that the caller checks before a
 * retry.
 */
function translate(error: unknown): Refusal | undefined {
  if (error instanceof UnknownOutcomeError)
    return new Refusal('service_unavailable', { reason: 'database_unavailable', outcome: 'unknown' }, { cause: error })
  // There is no verdict. The response has the reason, so that a record that was not verified in full is not called
  // forged.
  if (error instanceof TooManyChecks) return new Refusal('too_many_verifications', {}, { cause: error })
  if (error instanceof LimiterUnavailableError) return away('rate_limiter_unavailable', error)
  if (error instanceof BatchFullError || error instanceof BatchClosedError) return away('overloaded', error)
  const cause = translateDatabaseError(error)
  return cause === undefined ? undefined : away('database_unavailable', cause)
}

/** With the names of the readiness document. */
function away(reason: string, cause: unknown): Refusal {
  return new Refusal('service_unavailable', { reason }, { cause })
}
