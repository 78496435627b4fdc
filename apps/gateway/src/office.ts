import type { Clock, Ids, Limiter, Log, ReadinessEvents } from '@chancery/service-kit'
import type { RefusalTrail } from './audit/refusal-trail.ts'
import type { RequestAudit } from './audit/request-audit.ts'
import type { Access } from './auth/access.ts'
import type { SignatureChecks } from './auth/signature-checks.ts'
import type { ProxyReader } from './features/proxy/proxy-reader.ts'
import type { BatchPool } from './features/verify/batch-pool.ts'
import type { ReadingDesk } from './features/verify/reading-desk.ts'
import type { Permits } from './features/verify/permits.ts'
import type { MeshView } from './features/mesh/mesh-view.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { AuthorityPools } from './outbound/authority-pools.ts'
import type { Quota } from './quota/quota.ts'
import type { GatewaySettings } from './settings.ts'
import type { DurableState } from './state/durable-state.ts'
import type { RefreshRecord } from './trust/refresh-outcome.ts'
import type { TrustBook } from './trust/trust-book.ts'

/** Everything a handler may use. Access and trust are replaced by a reload; a request keeps what it began with. */
export interface Office {
  readonly settings: GatewaySettings
  readonly version: string
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly metrics: GatewayMetrics
  readonly access: () => Access
  /** Absent in development mode: callers bring their own trust. */
  readonly book: TrustBook | undefined
  readonly record: RefreshRecord
  readonly state: DurableState | undefined
  readonly audit: RequestAudit
  readonly quota: Quota
  /** Failed authentications per address. */
  readonly failures: Limiter
  readonly checks: SignatureChecks
  readonly trail: RefusalTrail
  readonly permits: Permits
  readonly batches: BatchPool
  readonly authorities: AuthorityPools
  readonly mesh: MeshView
  readonly readingDesk: ReadingDesk
  readonly proxyReader: ProxyReader
  /** False once a stop was asked for. */
  readonly isServing: () => boolean
  readonly hasTls: boolean
  readonly readinessEvents: ReadinessEvents
}
