import { createHash } from 'node:crypto'
import { type Clock, type Ids, type Log, MemoryLimiter, createLog, systemClock, systemIds } from '@chancery/service-kit'
import { RefusalAudit, type RefusalAuditParts } from '../audit/refusal-audit.ts'
import { RequestAudit } from '../audit/request-audit.ts'
import { CurrentAccess } from '../auth/current-access.ts'
import { SignatureChecks } from '../auth/signature-checks.ts'
import type { Core } from '../core.ts'
import { createMetrics } from '../metrics.ts'
import { AuthorityPools } from '../outbound/authority-pools.ts'
import type { Configuration } from '../policy/load-configuration.ts'
import { LocalQuota } from '../quota/local-quota.ts'
import { ProofMark, type Quota, proofMarkFile } from '../quota/quota.ts'
import { RedisQuota } from '../quota/redis-quota.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { type OpenedTrust, type TrustTools, openTrust } from '../trust/open-trust.ts'
import { type RefreshResult, RefreshResults } from '../trust/unread-list.ts'
import type { Followers } from '../trust/trust-state.ts'

/** Lists what tests replace. Everything else is real. */
export interface CoreOptions {
  readonly log: Log
  readonly version: string
  /** Receives the audit lines. Default: standard output. */
  readonly lines?: Log
  readonly clock?: Clock
  readonly ids?: Ids
  /** Set in a supervisor: the workers that answer by its lists, and what is called after a refresh. */
  readonly followers?: Followers
  readonly onRefresh?: (...result: RefreshResult) => void
}

export interface OpenedCore {
  readonly core: Core
  readonly access: CurrentAccess
  /** Undefined in development mode. */
  readonly trust: OpenedTrust | undefined
  /** Makes `isServing` return false. */
  stopServing(): void
  close(): Promise<void>
}

/** Opens the state, restores the lists and builds the core. `configuration` is undefined in development mode only. */
export async function openCore(
  settings: GatewaySettings,
  configuration: Configuration | undefined,
  { followers, onRefresh, ...options }: CoreOptions,
): Promise<OpenedCore> {
  const { log, clock = systemClock, ids = systemIds } = options
  const tools: TrustTools = { clock, ids, log }
  const trust =
    configuration === undefined ? undefined : await openTrust(settings, configuration.policy, { ...tools, followers })
  const assembled = assembleCore(settings, configuration, options, {
    trust: trust?.trust,
    state: trust?.state,
    refreshResults: new RefreshResults(onRefresh),
    quota: chooseQuota(settings, configuration, tools),
    failures: new MemoryLimiter(clock),
    refusalLimits: new MemoryLimiter(clock),
    passSums: undefined,
    doWorkersRestart: () => false,
  })
  return {
    ...assembled,
    trust,
    async close() {
      await assembled.close()
      await trust?.listWorker.close()
      await trust?.state?.close()
    },
  }
}

/** What a process has, or its supervisor has for it. */
export interface SharedParts extends Pick<
  Core,
  'trust' | 'state' | 'refreshResults' | 'quota' | 'failures' | 'doWorkersRestart'
> {
  readonly refusalLimits: RefusalAuditParts['limits']
  readonly passSums: RefusalAuditParts['passSums']
}

/** Builds the core around the shared parts. */
export function assembleCore(
  settings: GatewaySettings,
  configuration: Configuration | undefined,
  { log, version, lines, clock = systemClock, ids = systemIds }: CoreOptions,
  { refusalLimits: limits, passSums, ...shared }: SharedParts,
): Omit<OpenedCore, 'trust'> {
  const tools: TrustTools = { clock, ids, log }
  const { state } = shared
  const access =
    configuration === undefined
      ? CurrentAccess.ofDevelopment(sha256(settings.token ?? ''), tools)
      : CurrentAccess.ofConfiguration(configuration, tools)
  const metrics = createMetrics(version)
  // Audit lines are records, so they are written at every log level.
  const audit = new RequestAudit(state, clock, lines ?? createLog({ level: 'info', format: 'json', clock }))
  const { stateMaxBytes: capacityBytes, auditRefusalsPerMinute: perMinute } = settings
  const notRecorded = metrics.refusalsNotRecorded
  let isServing = true
  const core: Core = {
    ...tools,
    settings,
    version,
    metrics,
    access: () => access.current,
    ...shared,
    audit,
    refusals: new RefusalAudit({
      ...tools,
      audit,
      state,
      perMinute,
      capacityBytes,
      notRecorded,
      limits,
      passSums,
    }),
    checks: new SignatureChecks(clock),
    authorities: new AuthorityPools(clock),
    isServing: () => isServing,
  }
  return {
    core,
    access,
    stopServing() {
      isServing = false
    },
    async close() {
      await core.authorities.close()
      await core.quota.close()
      await access.close()
    },
  }
}

export function chooseQuota(
  { quotaNamespace, stateFile }: GatewaySettings,
  configuration: Pick<Configuration, 'redisUrl' | 'extraRoots'> | undefined,
  { clock, log }: TrustTools,
): Quota {
  const url = configuration?.redisUrl
  if (url === undefined || quotaNamespace === undefined) {
    const mark = stateFile === undefined ? undefined : ProofMark.open(proofMarkFile(stateFile), clock.now(), log)
    return new LocalQuota(clock, mark)
  }
  return new RedisQuota({
    url,
    namespace: quotaNamespace,
    extraRoots: configuration?.extraRoots ?? [],
    takesAhead: stateFile !== undefined,
    clock,
    log,
  })
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
