import { createHash } from 'node:crypto'
import type { AddressInfo } from 'node:net'
import {
  MemoryLimiter,
  ReadinessEvents,
  createLog,
  startJobs,
  systemClock,
  systemIds,
  toError,
  watchProcess,
} from '@chancery/service-kit'
import type { Clock, Ids, Log, RunningService } from '@chancery/service-kit'
import { AuditDelivery } from './audit/deliver.job.ts'
import { RefusalTrail } from './audit/refusal-trail.ts'
import { RequestAudit } from './audit/request-audit.ts'
import { SignatureChecks } from './auth/signature-checks.ts'
import { HeldAccess } from './auth/held-access.ts'
import { Edge } from './edge/server.ts'
import { BINDINGS } from './features.ts'
import { registerGauges } from './features/operations/gauges.ts'
import { ProxyReader } from './features/proxy/proxy-reader.ts'
import { BatchPool } from './features/verify/batch-pool.ts'
import { Permits } from './features/verify/permits.ts'
import { MeshView } from './features/mesh/mesh-view.ts'
import { ReadingDesk } from './features/verify/reading-desk.ts'
import { gatewayJobs } from './jobs.ts'
import { createMetrics } from './metrics.ts'
import type { Office } from './office.ts'
import { AuthorityPools } from './outbound/authority-pools.ts'
import type { Configuration } from './policy/load-configuration.ts'
import { LocalQuota } from './quota/local-quota.ts'
import type { Quota } from './quota/quota.ts'
import { RedisQuota } from './quota/redis-quota.ts'
import { reload } from './reload.ts'
import type { GatewaySettings } from './settings.ts'
import { openTrust } from './trust/open-trust.ts'
import type { OpenedTrust, TrustTools } from './trust/open-trust.ts'
import { ListRefresher } from './trust/refresh-lists.ts'
import { RefreshRecord } from './trust/refresh-outcome.ts'
import { operatorEvent } from './trust/trust-book.ts'

export interface RunningGateway extends RunningService {
  readonly address: AddressInfo
  readonly office: Office
  /** Reads all files again and puts them in force together, or changes nothing. */
  reload(): Promise<void>
}

/** What tests replace; everything else is real. */
export interface AppParts {
  readonly log: Log
  readonly version: string
  /** Where audit lines go; standard output when absent. */
  readonly lines?: Log
  readonly clock?: Clock
  readonly ids?: Ids
}

/** Restores the lists, opens the doors. `configuration` is undefined in development mode only. */
export async function startGateway(
  settings: GatewaySettings,
  configuration: Configuration | undefined,
  parts: AppParts,
): Promise<RunningGateway> {
  const { log, version, clock = systemClock, ids = systemIds } = parts
  // Written whatever the level of the service's own log: it is a record, not a remark.
  const lines = parts.lines ?? createLog({ level: 'info', format: 'json', clock })
  const tools = { clock, ids, log }
  const trust = configuration === undefined ? undefined : await openTrust(settings, configuration.policy, tools)
  const held =
    configuration === undefined
      ? HeldAccess.ofDevelopment(sha256(settings.token ?? ''), tools)
      : HeldAccess.ofConfiguration(configuration, tools)
  const serving = { isOn: true }
  const office = buildOffice({
    settings,
    version,
    lines,
    tools,
    configuration,
    trust,
    held,
    isServing: () => serving.isOn,
  })
  registerGauges(office)
  const watch = watchProcess(office.metrics.registry, clock)
  const edge = new Edge(office, BINDINGS, configuration?.tls)
  const address = await edge.listen(settings.address.host, settings.address.port)
  const background = startBackground(office, held, trust)
  await trust?.state?.append(operatorEvent('state_opened', { version }, tools))
  log.info('gateway is serving', { host: address.address, port: address.port, development: settings.development })
  return {
    address,
    office,
    reload: async () => {
      const { refresher } = background
      if (trust === undefined || refresher === undefined) log.warn('development mode has nothing to reload')
      else await reload({ office, held, edge, refresher, trust })
    },
    turnNotReady: () => {
      serving.isOn = false
      edge.stopKeeping()
    },
    stopAccepting: () => edge.stopAccepting(),
    async close() {
      watch.stop()
      await background.stop()
      await office.batches.close()
      await office.mesh.close()
      await office.authorities.close()
      await office.readingDesk.close()
      await office.proxyReader.close()
      await office.quota.close()
      await held.close()
      await trust?.desk.close()
      await trust?.state?.close()
    },
  }
}

interface OfficeParts {
  readonly settings: GatewaySettings
  readonly version: string
  readonly lines: Log
  readonly tools: TrustTools
  readonly configuration: Configuration | undefined
  readonly trust: OpenedTrust | undefined
  readonly held: HeldAccess
  readonly isServing: () => boolean
}

function buildOffice({ settings, version, lines, tools, configuration, trust, held, isServing }: OfficeParts): Office {
  const { clock } = tools
  const state = trust?.state
  const authorities = new AuthorityPools()
  const metrics = createMetrics(version)
  const audit = new RequestAudit(state, clock, lines)
  return {
    ...tools,
    settings,
    version,
    metrics,
    access: () => held.current,
    book: trust?.book,
    record: new RefreshRecord(),
    state,
    audit,
    quota: chooseQuota(settings, configuration, tools),
    failures: new MemoryLimiter(clock),
    checks: new SignatureChecks(clock),
    trail: new RefusalTrail({
      ...tools,
      audit,
      state,
      perMinute: settings.auditRefusalsPerMinute,
      notRecorded: metrics.refusalsNotRecorded,
    }),
    permits: new Permits(settings.cpuWorkers, settings.maxBatchJobs),
    batches: new BatchPool(),
    authorities,
    mesh: new MeshView(authorities, clock),
    readingDesk: new ReadingDesk(),
    proxyReader: new ProxyReader(),
    isServing,
    hasTls: configuration?.tls !== undefined,
    readinessEvents: new ReadinessEvents(tools.log, clock),
  }
}

function chooseQuota(
  { quotaNamespace }: GatewaySettings,
  configuration: Configuration | undefined,
  { clock, log }: TrustTools,
): Quota {
  const url = configuration?.redisUrl
  if (url === undefined || quotaNamespace === undefined) return new LocalQuota(clock)
  return new RedisQuota({ url, namespace: quotaNamespace, extraRoots: configuration?.extraRoots ?? [], log })
}

interface Background {
  readonly refresher: ListRefresher | undefined
  stop(): Promise<void>
}

/** Refreshing lists, delivering audit events, and the minute's chores. */
function startBackground(office: Office, held: HeldAccess, trust: OpenedTrust | undefined): Background {
  const { clock, log, settings, state } = office
  const refresher = trust === undefined ? undefined : startRefresher(office, trust)
  const delivery =
    state === undefined || settings.auditUrl === undefined
      ? undefined
      : new AuditDelivery({
          state,
          url: new URL(settings.auditUrl),
          allowPrivate: settings.auditAllowPrivate,
          secrets: () => ({
            token: held.configuration?.auditToken,
            extraRoots: held.configuration?.extraRoots ?? [],
          }),
          log,
        })
  const jobs = startJobs(gatewayJobs(office), { clock, log, metrics: office.metrics.registry })
  return {
    refresher,
    async stop() {
      await refresher?.stop()
      await delivery?.close()
      await jobs.stop()
      await office.trail.flush()
    },
  }
}

function startRefresher(office: Office, { book, desk, state }: OpenedTrust): ListRefresher {
  const { record, clock, log, settings } = office
  const refresher = new ListRefresher({
    book,
    desk,
    record,
    clock,
    log,
    settings,
    onRefused: ({ policy: { network, issuer } }, outcome) => {
      // An unreachable server says nothing about a list; the metrics count it.
      if (outcome === 'unreachable' || outcome === 'equivocation' || outcome === 'state') return
      const event = operatorEvent('crl_rejected', { network, issuer, outcome }, office)
      state?.append(event).catch((thrown: unknown) => log.error('refusal not recorded', { error: toError(thrown) }))
    },
  })
  refresher.follow()
  return refresher
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
