import type { AddressInfo } from 'node:net'
import type { Clock, Ids, Job, Limiter, Log } from '@chancery/service-kit'
import type { RefusalAudit } from './audit/refusal-audit.ts'
import type { RequestAudit } from './audit/request-audit.ts'
import type { Access } from './auth/access.ts'
import type { SignatureChecks } from './auth/signature-checks.ts'
import type { GatewayBinding } from './edge/call.ts'
import type { GatewayMetrics } from './metrics.ts'
import type { AuthorityPools } from './outbound/authority-pools.ts'
import type { TlsMaterial } from './policy/tls-files.ts'
import type { Quota } from './quota/quota.ts'
import type { GatewaySettings } from './settings/gateway-settings.ts'
import type { StateAccess } from './state/durable-state.ts'
import type { RefreshResults } from './trust/unread-list.ts'
import type { CurrentTrust } from './trust/trust-state.ts'

/** Parts that the edge, the jobs and the features share. It names no feature. A function takes `Pick<Core, …>`. */
export interface Core {
  readonly settings: GatewaySettings
  readonly version: string
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  readonly metrics: GatewayMetrics
  /** Returns the current clients. A reload replaces them. */
  readonly access: () => Access
  /** Undefined in development mode, where callers send their own trust inputs. */
  readonly trust: CurrentTrust | undefined
  readonly refreshResults: RefreshResults
  /** Undefined without GATEWAY_STATE_FILE. */
  readonly state: StateAccess | undefined
  readonly audit: RequestAudit
  readonly refusals: RefusalAudit
  readonly quota: Quota
  /** Counts failed authentications per address. */
  readonly failures: Limiter
  readonly checks: SignatureChecks
  readonly authorities: AuthorityPools
  /** Returns false after a stop was requested. */
  readonly isServing: () => boolean
  /** True while worker processes of this gateway end repeatedly. */
  readonly doWorkersRestart: () => boolean
}

/** A listener of a feature. It stops with the one of the gateway. */
export interface FeatureListener {
  readonly name: 'check' | 'check-grpc'
  listen(): Promise<AddressInfo>
  replaceTls(tls: TlsMaterial): void
  stopKeepAlive(): void
  stopAccepting(): Promise<void>
}

/** A feature after it was opened: its routes, its jobs, and how to close it. */
export interface Feature {
  readonly routes: readonly GatewayBinding[]
  readonly jobs: readonly Job[]
  /** Its separate listeners. They start after the one of the gateway. */
  readonly listeners?: readonly FeatureListener[]
  /** Ends its threads. Features are closed in reverse order of opening. */
  close(): Promise<void>
}
