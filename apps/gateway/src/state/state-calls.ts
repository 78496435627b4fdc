import type { Instant, JsonObject } from '@chancery/protocol'
import type { Equivocation, StoredCheckpoint } from './checkpoints.ts'

export interface StateUsage {
  /** Size of the file. */
  readonly bytes: number
  /** Without free pages. */
  readonly usedBytes: number
  /** Events that the collector has not acknowledged. */
  readonly pending: number
  readonly oldestPendingAt: Instant | undefined
}

export interface OpenedState {
  readonly checkpoints: readonly StoredCheckpoint[]
  readonly usage: StateUsage
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
