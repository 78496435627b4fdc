import { DAY, type Instant } from '@chancery/protocol'
import { type ReadinessEvents, WORKERS_RESTART } from '@chancery/service-kit'
import { forecast } from '../../state/usage.ts'
import { type TrustSnapshot, isNetworkUsable, isUsable } from '../../trust/snapshot.ts'
import type { Core } from '../../core.ts'
import type { GatewaySettings } from '../../settings/gateway-settings.ts'

/** Lists what `openOperations` needs. */
export interface OperationsOptions extends Pick<
  Core,
  | 'version'
  | 'clock'
  | 'log'
  | 'metrics'
  | 'access'
  | 'trust'
  | 'refreshResults'
  | 'state'
  | 'quota'
  | 'isServing'
  | 'doWorkersRestart'
> {
  readonly settings: Pick<
    GatewaySettings,
    'development' | 'redisUrlFile' | 'auditUrl' | 'maxListBytes' | 'stateMaxBytes' | 'auditRetentionDays'
  >
  readonly hasTls: boolean
}

/** Lists what the handlers of this feature use. */
export interface OperationsParts extends OperationsOptions {
  readonly readinessEvents: ReadinessEvents
}

/** Checks of protocol/gateway 10, without network names, because the route is public. */
export type ReadyChecks = {
  readonly revocation: boolean
  readonly state: boolean
  readonly quota: boolean
  readonly audit_capacity: boolean
  /** Only of a worker: without a recent message of its supervisor it gives no answers. */
  readonly supervisor?: boolean
}

export async function checkReadiness(parts: OperationsParts): Promise<ReadyChecks> {
  const { trust, state, quota, settings } = parts
  const now = parts.clock.now()
  return {
    revocation: trust === undefined || isHomeUsable(trust.current, now),
    state: state?.isHealthy ?? true,
    quota: await quota.probe(),
    audit_capacity: state === undefined || state.usage.usedBytes < settings.stateMaxBytes,
    ...(trust?.hasLease === undefined ? {} : { supervisor: trust.hasLease }),
  }
}

/** Other networks do not decide readiness: one partner that is away would remove every gateway from its balancer. */
function isHomeUsable(snapshot: TrustSnapshot, now: Instant): boolean {
  const { networks, homeNetwork } = snapshot.policy
  const home = networks.get(homeNetwork)
  return home !== undefined && isNetworkUsable(snapshot, home, now)
}

/** Runs the checks, and logs a loss of readiness and its end. */
export async function observeReadiness(parts: OperationsParts): Promise<ReadyChecks> {
  const checks = await checkReadiness(parts)
  const lost = Object.entries(checks).filter(([, holds]) => !holds)
  parts.readinessEvents.see([...(parts.isServing() ? [] : ['stopping']), ...lost.map(([name]) => name)])
  return checks
}

const FULL_PART = 0.8
const SOON = 14n * DAY

/** Warnings of a gateway that is ready. Without network names. */
export function warningsOf(parts: OperationsParts): readonly string[] {
  const { state, settings, clock } = parts
  const warnings: string[] = [...listReasons(parts)]
  if (hasStaleList(parts)) warnings.push('list_stale')
  if (state !== undefined) {
    const now = clock.now()
    const { fullAt } = forecast(state.usage, settings, now)
    const isFilling = state.usage.usedBytes > settings.stateMaxBytes * FULL_PART
    if (isFilling || (fullAt !== undefined && fullAt - now < SOON)) warnings.push('state_full_soon')
  }
  if (parts.doWorkersRestart()) warnings.push(WORKERS_RESTART)
  return warnings
}

export function isReady(checks: ReadyChecks): boolean {
  return Object.values(checks).every((holds) => holds)
}

/** Why a list is, or will be, unusable. Without network names. */
export type ListReason = 'list_too_large' | 'list_unreadable'

/** Whether a list of any network is not usable. Its certificates are refused. */
function hasStaleList({ trust, clock }: Pick<OperationsParts, 'trust' | 'clock'>): boolean {
  const now = clock.now()
  return [...(trust?.current.issuers.values() ?? [])].some((issuerState) => !isUsable(issuerState, now))
}

export function listReasons({ trust, refreshResults }: OperationsParts): readonly ListReason[] {
  const reasons = new Set<ListReason>()
  for (const { policy, unread } of trust?.current.issuers.values() ?? []) {
    if (unread !== undefined) reasons.add(unread.reason)
    // The authority signs no list head, so nothing proves that the list is newer. An operator should check it.
    else if (refreshResults.last(policy.network, policy.issuer)?.outcome === 'too_large') reasons.add('list_too_large')
  }
  return [...reasons].toSorted()
}
