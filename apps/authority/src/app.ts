import { Refusal } from '@chancery/contract'
import { TooManyChecks, signatureLibrary } from '@chancery/protocol'
import {
  AccessLog,
  BatchClosed,
  BatchOverflow,
  LimiterUnavailable,
  createServer,
  startJobs,
  watchProcess,
} from '@chancery/service-kit'
import type { Binding, HttpServer, RunningService } from '@chancery/service-kit'
import { guardFor } from './auth/access.ts'
import { bindingsFor } from './features.ts'
import { registerGauges, registerLoadGauges } from './features/health/gauges.ts'
import { authorityJobs } from './jobs.ts'
import type { Office } from './office.ts'
import { StartRefused } from './genesis.ts'
import { openOffice } from './open-office.ts'
import type { AppParts } from './open-office.ts'
import type { AuthoritySettings } from './settings.ts'
import { UnknownOutcome } from './store/database.ts'
import { translateStoreError } from './store/open.ts'

export interface RunningAuthority extends RunningService {
  readonly url: string
  /** Of the management listener; undefined without one. */
  readonly managementUrl: string | undefined
  readonly office: Office
}

/** Builds the office, migrates the database, binds the features and listens. */
export async function startAuthority(settings: AuthoritySettings, parts: AppParts): Promise<RunningAuthority> {
  let serving = true
  const opened = await openOffice(settings, { ...parts, isServing: () => serving })
  const { office } = opened
  const { clock, log, metrics } = office
  registerGauges(office)
  const watch = watchProcess(metrics.registry, clock)
  const { open, management: inside } = bindingsFor(settings)
  const server = buildServer(office, open)
  registerLoadGauges(metrics, () => server.load())
  const { url, management } = await openListeners(office, server, inside).catch(async (error: unknown) => {
    watch.stop()
    await opened.close()
    throw error
  })
  const jobs = startJobs(authorityJobs(office), { clock, log, metrics: metrics.registry })
  log.info('authority is serving', {
    url,
    ...(management === undefined ? {} : { management_url: management.url }),
    instance: office.instance,
    sovereign: office.genesis.network_name,
    backend: office.store.backend,
    ed25519: signatureLibrary,
  })
  return {
    url,
    managementUrl: management?.url,
    office,
    turnNotReady: () => {
      serving = false
      server.stopKeeping()
    },
    stopAccepting: () => server.stopAccepting(),
    async close() {
      // Last: who watches this instance sees it until the end.
      await management?.server.stopAccepting()
      watch.stop()
      await jobs.stop()
      await keepLastMark(office)
      await opened.close()
    },
  }
}

/**
 * Writes what was published since the last mark: a backup that is restored after this stop is compared with it. The job
 * that keeps the mark runs every five seconds only.
 */
async function keepLastMark({ rollbackWatch, log }: Office): Promise<void> {
  try {
    await rollbackWatch.keep()
  } catch (error) {
    log.warn('high-water mark not written at the stop', { error })
  }
}

/** Where a listener is, and the setting that says so. */
interface Place {
  readonly name: string
  readonly host: string
  readonly port: number
}

interface Listeners {
  readonly url: string
  readonly management: { readonly server: HttpServer; readonly url: string } | undefined
}

/** Both listeners or none. The one for those inside is first: nobody is served by an authority that will not start. */
async function openListeners(
  office: Office,
  server: HttpServer,
  inside: readonly Binding<Office>[],
): Promise<Listeners> {
  const { host, port } = office.settings
  const management = await openManagement(office, inside)
  try {
    return { url: await listen(server, { name: 'PORT', host, port }), management }
  } catch (error) {
    await management?.server.app.close()
    throw error
  }
}

/** The listener for those inside, when one is asked for. */
async function openManagement(office: Office, bindings: readonly Binding<Office>[]): Promise<Listeners['management']> {
  const { managementHost: host, managementPort: port } = office.settings
  if (port === undefined) return undefined
  const server = buildServer(office, bindings)
  return { server, url: await listen(server, { name: 'NA_MANAGEMENT_PORT', host, port }) }
}

async function listen(server: HttpServer, { name, host, port }: Place): Promise<string> {
  try {
    return await server.listen(host, port)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : ''
    const reason = LISTEN_FAILURES.get(code)
    if (reason === undefined) throw error
    throw new StartRefused(`${name}: ${port} ${reason(host)}`, { cause: error })
  }
}

const LISTEN_FAILURES: ReadonlyMap<string, (host: string) => string> = new Map([
  ['EADDRINUSE', (host) => `is in use on ${host}: stop what listens there, or choose another port`],
  ['EACCES', (host) => `may not be opened on ${host} by this user: choose a port above 1023`],
  ['EADDRNOTAVAIL', (host) => `cannot be opened on ${host}: that is no address of this machine`],
])

function buildServer(office: Office, bindings: readonly Binding<Office>[]): HttpServer {
  return createServer({
    bindings,
    context: office,
    guard: guardFor(office),
    ids: office.ids,
    log: office.log,
    proxyHops: office.settings.proxyHops,
    maxRequestBytes: office.settings.maxRequestBytes,
    translate,
    missing: { prefix: '/operator-console-static/', code: 'asset_not_found' },
    access: accessLogOf(office),
    observe: (route, status, seconds) => office.metrics.requests.observe(route?.id ?? 'none', status, seconds),
  })
}

function accessLogOf({ log, instance, settings }: Office): AccessLog {
  const { accessLogLevel: level, accessLogEvery: every, accessLogSlowMs: slowMs } = settings
  return new AccessLog({ log, instance, level, every, slowMs })
}

/** Failures of our own parts, as the refusal they mean. A lost COMMIT says so: the caller must look before repeating. */
function translate(error: unknown): Refusal | undefined {
  if (error instanceof UnknownOutcome)
    return new Refusal('service_unavailable', { outcome: 'unknown' }, { cause: error })
  // No verdict was reached: the caller learns why, and no record is called forged that was not tried in full.
  if (error instanceof TooManyChecks) return new Refusal('too_many_verifications', {}, { cause: error })
  if (error instanceof LimiterUnavailable) return away('rate_limiter_unavailable', error)
  if (error instanceof BatchOverflow || error instanceof BatchClosed) return away('overloaded', error)
  const cause = translateStoreError(error)
  return cause === undefined ? undefined : away('database_unavailable', cause)
}

/** The words are those of the readiness document. */
function away(reason: string, cause: unknown): Refusal {
  return new Refusal('service_unavailable', { reason }, { cause })
}
