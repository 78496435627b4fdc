import type { ListPosition, Instant } from '@chancery/protocol'
import type { SettingSources } from '@chancery/service-kit'
import type { RecordedFiles } from '../policy/files.ts'
import type { FollowedKeys } from '../policy/policy.ts'
import type { StateUsage } from '../state/state-calls.ts'
import type { RefreshData } from '../trust/refresh-results.ts'
import type { SharedIndex } from '../trust/revocation-index.ts'
import type { UnreadList } from '../trust/snapshot.ts'

/** The first message to a worker: everything it answers by. */
export interface GatewayBegin {
  readonly sources: Omit<SettingSources, 'env'>
  /** Undefined in development mode. */
  readonly trust: TrustMessage | undefined
  readonly refreshes: RefreshData
  readonly lease: Lease
  /** The Redis of quotas and spent proofs, as at the start: a reload does not replace it. */
  readonly redis: { readonly redisUrl: string | undefined; readonly extraRoots: readonly string[] } | undefined
}

/** A snapshot, or what differs from the one before. */
export interface TrustMessage {
  readonly version: number
  /** Set at the start and at a reload. */
  readonly files: RecordedFiles | undefined
  readonly loadedAt: Instant
  /** By network. Undefined: the same as before. */
  readonly followed: ReadonlyMap<string, FollowedKeys> | undefined
  /** All issuers, in order. */
  readonly issuers: readonly IssuerMessage[]
}

export interface IssuerMessage {
  readonly key: string
  readonly floor: number
  readonly isSuspect: boolean
  readonly unread: UnreadList | undefined
  /** Undefined: the worker has this list. */
  readonly list: ListMessage | undefined
}

export interface ListMessage {
  readonly position: ListPosition
  readonly body: Uint8Array
  readonly index: SharedIndex
}

/** Sent several times a second. Without a recent one a worker gives no answers. */
export interface Lease {
  /** By the monotonic clock of the machine, which all processes share. */
  readonly sentNs: bigint
  /** Undefined without GATEWAY_STATE_FILE. */
  readonly state: { readonly isHealthy: boolean; readonly usage: StateUsage } | undefined
}

export const LEASE_EVERY_MS = 250
/** How long a worker may answer without a message of its supervisor. */
export const LEASE_MS = 2000
