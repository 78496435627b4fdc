import type { Clock, Ids, Limiter, Log } from '@chancery/service-kit'
import type { RefusalAudit } from '../audit/refusal-audit.ts'
import type { RequestAudit } from '../audit/request-audit.ts'
import type { Access } from '../auth/access.ts'
import type { SignatureChecks } from '../auth/signature-checks.ts'
import type { GatewayMetrics } from '../metrics.ts'
import type { Quota } from '../quota/quota.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import type { DurableState } from '../state/durable-state.ts'
import type { CurrentTrust } from '../trust/trust-state.ts'

/** Lists what the edge uses. Access and trust change with a reload; a request uses the values it started with. */
export interface EdgeParts {
  readonly settings: Pick<
    GatewaySettings,
    'maxInflight' | 'maxBodyBytes' | 'timeoutMs' | 'tlsMin' | 'authFailuresPerMinute' | 'accessLogEvery'
  >
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly metrics: GatewayMetrics
  readonly access: () => Access
  /** Undefined in development mode, where callers send their own trust inputs. */
  readonly trust: CurrentTrust | undefined
  readonly state: Pick<DurableState, 'isHealthy'> | undefined
  readonly audit: RequestAudit
  readonly refusals: RefusalAudit
  readonly quota: Quota
  /** Counts failed authentications per address. */
  readonly failures: Limiter
  readonly checks: SignatureChecks
}
