import { Refusal } from '@chancery/contract'
import { signatureLibrary } from '@chancery/protocol'
import {
  BatchClosed,
  BatchOverflow,
  LimiterUnavailable,
  createServer,
  startJobs,
  watchProcess,
} from '@chancery/service-kit'
import type { HttpServer, RunningService } from '@chancery/service-kit'
import { guardFor } from './auth/access.ts'
import { BINDINGS } from './features.ts'
import { registerGauges } from './features/health/gauges.ts'
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
  const server = buildServer(office)
  const url = await listen(server, settings)
  const jobs = startJobs(authorityJobs(office), { clock, log, metrics: metrics.registry })
  log.info('authority is serving', {
    url,
    instance: office.instance,
    sovereign: office.genesis.network_name,
    backend: office.store.backend,
    ed25519: signatureLibrary,
  })
  return {
    url,
    office,
    turnNotReady: () => {
      serving = false
    },
    stopAccepting: () => server.stopAccepting(),
    async close() {
      watch.stop()
      await jobs.stop()
      await opened.close()
    },
  }
}

async function listen(server: HttpServer, { host, port }: AuthoritySettings): Promise<string> {
  try {
    return await server.listen(host, port)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    if (code === 'EADDRINUSE') throw new StartRefused(`PORT: ${port} is in use on ${host}`, { cause: error })
    throw error
  }
}

function buildServer(office: Office): HttpServer {
  return createServer({
    bindings: BINDINGS,
    context: office,
    guard: guardFor(office),
    ids: office.ids,
    log: office.log,
    proxyHops: office.settings.proxyHops,
    maxRequestBytes: office.settings.maxRequestBytes,
    translate,
    missing: { prefix: '/operator-console-static/', code: 'asset_not_found' },
    observe: (route, status, seconds) => office.metrics.requests.observe(route?.id ?? 'none', status, seconds),
  })
}

/** Failures of our own parts, as the refusal they mean. A lost COMMIT says so: the caller must look before repeating. */
function translate(error: unknown): Refusal | undefined {
  if (error instanceof UnknownOutcome)
    return new Refusal('service_unavailable', { outcome: 'unknown' }, { cause: error })
  const isBusy = error instanceof LimiterUnavailable || error instanceof BatchOverflow || error instanceof BatchClosed
  const cause = isBusy ? error : translateStoreError(error)
  return cause === undefined ? undefined : new Refusal('service_unavailable', {}, { cause })
}
