import { createHash } from 'node:crypto'
import { MemoryLimiter, createLog, systemClock, systemIds } from '@chancery/service-kit'
import type { Clock, Ids, Log } from '@chancery/service-kit'
import { RefusalAudit } from '../audit/refusal-audit.ts'
import { RequestAudit } from '../audit/request-audit.ts'
import { CurrentAccess } from '../auth/current-access.ts'
import { SignatureChecks } from '../auth/signature-checks.ts'
import type { Core } from '../core.ts'
import { createMetrics } from '../metrics.ts'
import { AuthorityPools } from '../outbound/authority-pools.ts'
import type { Configuration } from '../policy/load-configuration.ts'
import { LocalQuota } from '../quota/local-quota.ts'
import type { Quota } from '../quota/quota.ts'
import { RedisQuota } from '../quota/redis-quota.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { openTrust } from '../trust/open-trust.ts'
import type { OpenedTrust, TrustTools } from '../trust/open-trust.ts'
import { RefreshResults } from '../trust/refresh-results.ts'

/** Lists what tests replace. Everything else is real. */
export interface CoreOptions {
  readonly log: Log
  readonly version: string
  /** Receives the audit lines. Default: standard output. */
  readonly lines?: Log
  readonly clock?: Clock
  readonly ids?: Ids
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
  { log, version, lines, clock = systemClock, ids = systemIds }: CoreOptions,
): Promise<OpenedCore> {
  const tools: TrustTools = { clock, ids, log }
  const trust = configuration === undefined ? undefined : await openTrust(settings, configuration.policy, tools)
  const access =
    configuration === undefined
      ? CurrentAccess.ofDevelopment(sha256(settings.token ?? ''), tools)
      : CurrentAccess.ofConfiguration(configuration, tools)
  const state = trust?.state
  const metrics = createMetrics(version)
  // Audit lines are records, so they are written at every log level.
  const audit = new RequestAudit(state, clock, lines ?? createLog({ level: 'info', format: 'json', clock }))
  const { auditRefusalsPerMinute: perMinute, stateMaxBytes: capacityBytes } = settings
  const notRecorded = metrics.refusalsNotRecorded
  let isServing = true
  const core: Core = {
    ...tools,
    settings,
    version,
    metrics,
    access: () => access.current,
    trust: trust?.trust,
    refreshResults: new RefreshResults(),
    state,
    audit,
    refusals: new RefusalAudit({ ...tools, audit, state, perMinute, capacityBytes, notRecorded }),
    quota: chooseQuota(settings, configuration, tools),
    failures: new MemoryLimiter(clock),
    checks: new SignatureChecks(clock),
    authorities: new AuthorityPools(settings),
    isServing: () => isServing,
  }
  return {
    core,
    access,
    trust,
    stopServing() {
      isServing = false
    },
    async close() {
      await core.authorities.close()
      await core.quota.close()
      await access.close()
      await trust?.listWorker.close()
      await state?.close()
    },
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

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
