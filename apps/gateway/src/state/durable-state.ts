import type { JsonObject } from '@chancery/protocol'
import { BatchClosedError, Batcher, type Log, Thread, ThreadError, toError } from '@chancery/service-kit'
import type { PendingKind, PruneLimit } from './audit-log.ts'
import type { StoredCheckpoint } from './checkpoints.ts'
import { NO_USAGE } from './verify-state.ts'
import type {
  CheckpointRequest,
  EquivocationRequest,
  OpenedState,
  PendingEvent,
  Pruned,
  StateUsage,
} from './verify-state.ts'
import { StateError } from './state-values.ts'
import { RING_PART } from './usage.ts'

/** The state could not be written, now or earlier in this process. */
export class StateUnavailableError extends Error {
  override readonly name = 'StateUnavailableError'
}

/** The state as requests use it: in this process, or in the supervisor of this worker. */
export type StateAccess = Pick<
  DurableState,
  'isHealthy' | 'usage' | 'append' | 'measure' | 'findStored' | 'findEvents' | 'close'
>

const EVENTS_PER_COMMIT = 256
const MAX_WAITING = 8192
/** The newest events stay when lists fill the state, up to the second part of the capacity. */
const KEPT_EVENTS = 1000
const FULL_PART = 0.8

export interface StateOptions {
  readonly file: string
  readonly maxBytes: number
  readonly log: Log
  /** Makes the event `audit_pruned`. Set without a collector: the oldest events leave when there is no room for new ones. */
  readonly ring: (() => JsonObject) | undefined
}

/**
 * Writes the durable state. Everything is committed and synced before its promise resolves. After one failed write the
 * state is unhealthy until an operator repairs it and restarts (protocol/gateway 9.4).
 */
export class DurableState {
  readonly #thread = new Thread('./state-thread', import.meta.url)
  readonly #log: Log
  readonly #events: Batcher<readonly JsonObject[], undefined>
  #healthy = true
  readonly #options: StateOptions
  #usage = NO_USAGE
  /** Events that waited for a collector when a process without one opened the state. */
  released = 0

  private constructor(options: StateOptions) {
    this.#options = options
    this.#log = options.log
    this.#events = new Batcher((events) => this.#append(events), {
      maxItems: EVENTS_PER_COMMIT,
      maxWaiting: MAX_WAITING,
    })
  }

  /** Locks the state, checks all of it and returns the checkpoints. Throws {@link StateError}. */
  static async open(options: StateOptions): Promise<{ state: DurableState; checkpoints: readonly StoredCheckpoint[] }> {
    const state = new DurableState(options)
    const { file, maxBytes, ring } = options
    try {
      const request = { file, maxBytes, hasCollector: ring === undefined }
      const { checkpoints, usage, released } = await state.#thread.call<OpenedState>('open', request)
      state.#usage = usage
      state.released = released
      return { state, checkpoints }
    } catch (error) {
      await state.#thread.close()
      if (error instanceof ThreadError && error.kind === 'StateError') throw new StateError(error.message)
      throw error
    }
  }

  get isHealthy(): boolean {
    return this.#healthy
  }

  /** Usage at the last call of {@link DurableState.measure}. */
  get usage(): StateUsage {
    return this.#usage
  }

  /** Appends events to the audit chain, all or none. Concurrent calls share one commit. */
  async append(...events: readonly JsonObject[]): Promise<void> {
    try {
      await this.#events.add(events)
    } catch (error) {
      if (error instanceof BatchClosedError) throw new StateUnavailableError('the state is closed', { cause: error })
      throw error
    }
  }

  async storeCheckpoint(request: CheckpointRequest): Promise<void> {
    await this.#write('storeCheckpoint', request)
  }

  async storeEquivocation(request: EquivocationRequest): Promise<void> {
    await this.#write('storeEquivocation', request)
  }

  pending(limit: number, kind: PendingKind): Promise<readonly PendingEvent[]> {
    return this.#thread.call('pending', { limit, kind })
  }

  /** Returns how many events moved to the rejected queue. */
  complete(acknowledged: readonly number[], refused: readonly number[]): Promise<number> {
    return this.#write('complete', { acknowledged, refused })
  }

  prune(limit: PruneLimit, event: JsonObject): Promise<Pruned> {
    return this.#write('prune', { limit, event })
  }

  findStored(network: string, issuer: string): Promise<StoredCheckpoint | undefined> {
    return this.#thread.call('findStored', { network, issuer })
  }

  /** Returns the events of a request among the newest ones, oldest first, as they are exported. */
  findEvents(requestId: string, newest: number): Promise<readonly JsonObject[]> {
    return this.#thread.call('findEvents', { requestId, newest })
  }

  async measure(): Promise<StateUsage> {
    this.#usage = await this.#thread.call<StateUsage>('usage', undefined)
    return this.#usage
  }

  async close(): Promise<void> {
    await this.#events.close()
    // Later calls find the state unhealthy.
    this.#healthy = false
    if (!this.#thread.hasEnded) await this.#thread.call('close', undefined)
    await this.#thread.close()
  }

  async #append(groups: (readonly JsonObject[])[]): Promise<undefined[]> {
    await this.#makeRoom(await this.#write<number>('append', groups.flat()))
    return groups.map(() => undefined)
  }

  /** Removes the oldest events of a ring. The next commit waits for it, so that no burst is faster. */
  async #makeRoom(usedBytes: number): Promise<void> {
    const { ring, maxBytes } = this.#options
    if (ring === undefined) return
    for (let used = usedBytes; used > maxBytes * RING_PART;) {
      const pruned = await this.prune({ keep: used > maxBytes * FULL_PART ? 0 : KEPT_EVENTS }, ring())
      if (pruned.removed <= 1) return
      used = pruned.usedBytes
    }
  }

  async #write<Value>(operation: string, argument: unknown): Promise<Value> {
    if (!this.#healthy) throw new StateUnavailableError('the state is unhealthy since an earlier failure')
    try {
      return await this.#thread.call<Value>(operation, argument)
    } catch (thrown) {
      this.#healthy = false
      this.#log.error('state cannot be written; repair it and restart', { alarm: true, error: toError(thrown) })
      throw new StateUnavailableError('the state cannot be written', { cause: thrown })
    }
  }
}
