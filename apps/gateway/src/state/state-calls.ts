import type { Instant, JsonObject } from '@chancery/protocol'
import type { PruneLimit } from './audit-log.ts'
import type { Equivocation, StoredCheckpoint } from './checkpoints.ts'

export interface StateUsage {
  /** Size of the file. */
  readonly bytes: number
  /** Without free pages. */
  readonly usedBytes: number
  /** Events that the collector has not acknowledged. */
  readonly pending: number
  readonly oldestPendingAt: Instant | undefined
  /** What events add in a day, at the rate of the last one; undefined while that is unknown. */
  readonly bytesPerDay: number | undefined
}

export const NO_USAGE: StateUsage = {
  bytes: 0,
  usedBytes: 0,
  pending: 0,
  oldestPendingAt: undefined,
  bytesPerDay: undefined,
}

export interface OpenedState {
  readonly checkpoints: readonly StoredCheckpoint[]
  readonly usage: StateUsage
  /** Events that waited for a collector which is no longer configured. */
  readonly released: number
}

export interface CheckpointRequest {
  readonly checkpoint: {
    readonly network: string
    readonly issuer: string
    readonly sequence: number
    readonly issued_at: string
    readonly body: Uint8Array
  }
  /** See trust/check-list.ts. */
  readonly withdrawnChange: Uint8Array
  readonly events: readonly JsonObject[]
}

/** Two lists with one sequence. Their digests are added to the event in the state thread. */
export interface EquivocationRequest {
  readonly proof: Omit<Equivocation, 'held' | 'offered'>
  readonly held: Uint8Array
  readonly offered: Uint8Array
  readonly event: JsonObject
}

export interface PendingEvent {
  readonly sequence: number
  readonly id: string
  /** The event with its hash, as JSON. */
  readonly text: string
}

export interface PruneRequest {
  readonly limit: PruneLimit
  /** The event `audit_pruned`, without what was removed. */
  readonly event: JsonObject
}

export interface Pruned {
  readonly removed: number
  readonly usedBytes: number
}
