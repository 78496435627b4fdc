import type { Instant, JsonObject } from '@chancery/protocol'
import { BatchClosed, Batcher, Thread, ThreadFailure, toError } from '@chancery/service-kit'
import type { Log } from '@chancery/service-kit'
import type { PendingKind } from './audit-log.ts'
import type { StoredCheckpoint } from './checkpoints.ts'
import type { CheckpointRequest, EquivocationRequest, OpenedState, PendingEvent, StateUsage } from './state-calls.ts'
import { StateProblem } from './state-problem.ts'

/** The state could not be written, now or earlier in this process. */
export class StateUnavailable extends Error {
  override readonly name = 'StateUnavailable'
}

const EVENTS_PER_COMMIT = 256
const MAX_WAITING = 8192

/**
 * Durable state as the rest of the gateway sees it. Everything is committed and synced before its promise resolves. One
 * failed write and the state counts as unhealthy until a person repairs it and restarts (protocol/gateway 9.4).
 */
export class DurableState {
  readonly #thread = new Thread('./state-thread', import.meta.url)
  readonly #log: Log
  readonly #events: Batcher<readonly JsonObject[], undefined>
  #healthy = true
  #usage: StateUsage = { bytes: 0, usedBytes: 0, pending: 0, oldestPendingAt: undefined }

  private constructor(log: Log) {
    this.#log = log
    this.#events = new Batcher((events) => this.#append(events), {
      maxItems: EVENTS_PER_COMMIT,
      maxWaiting: MAX_WAITING,
    })
  }

  /** Takes ownership, checks all of it and gives the checkpoints; throws {@link StateProblem}. */
  static async open(
    file: string,
    maxBytes: number,
    log: Log,
  ): Promise<{ state: DurableState; checkpoints: readonly StoredCheckpoint[] }> {
    const state = new DurableState(log)
    try {
      const { checkpoints, usage } = await state.#thread.call<OpenedState>('open', { file, maxBytes })
      state.#usage = usage
      return { state, checkpoints }
    } catch (error) {
      await state.#thread.close()
      if (error instanceof ThreadFailure && error.kind === 'StateProblem') throw new StateProblem(error.message)
      throw error
    }
  }

  get isHealthy(): boolean {
    return this.#healthy
  }

  /** As of the last look; see {@link DurableState.measure}. */
  get usage(): StateUsage {
    return this.#usage
  }

  /** Appends to the audit chain, all or none; events that wait together share one commit. */
  async append(...events: readonly JsonObject[]): Promise<void> {
    try {
      await this.#events.add(events)
    } catch (error) {
      if (error instanceof BatchClosed) throw new StateUnavailable('the state is closed', { cause: error })
      throw error
    }
  }

  async keepCheckpoint(request: CheckpointRequest): Promise<void> {
    await this.#write('keepCheckpoint', request)
  }

  async keepEquivocation(request: EquivocationRequest): Promise<void> {
    await this.#write('keepEquivocation', request)
  }

  pending(limit: number, kind: PendingKind): Promise<readonly PendingEvent[]> {
    return this.#thread.call('pending', { limit, kind })
  }

  /** Gives how many events were set aside just now. */
  settle(acknowledged: readonly number[], refused: readonly number[]): Promise<number> {
    return this.#write('settle', { acknowledged, refused })
  }

  prune(before: Instant, event: JsonObject): Promise<number> {
    return this.#write('prune', { before, event })
  }

  findStored(network: string, issuer: string): Promise<StoredCheckpoint | undefined> {
    return this.#thread.call('findStored', { network, issuer })
  }

  async measure(): Promise<StateUsage> {
    this.#usage = await this.#thread.call<StateUsage>('usage', undefined)
    return this.#usage
  }

  async close(): Promise<void> {
    await this.#events.close()
    // Whoever comes now finds what is no longer written to.
    this.#healthy = false
    if (!this.#thread.hasEnded) await this.#thread.call('close', undefined)
    await this.#thread.close()
  }

  async #append(groups: (readonly JsonObject[])[]): Promise<undefined[]> {
    await this.#write('append', groups.flat())
    return groups.map(() => undefined)
  }

  async #write<Value>(operation: string, argument: unknown): Promise<Value> {
    if (!this.#healthy) throw new StateUnavailable('the state is unhealthy since an earlier failure')
    try {
      return await this.#thread.call<Value>(operation, argument)
    } catch (thrown) {
      this.#healthy = false
      this.#log.error('state cannot be written; repair it and restart', { alarm: true, error: toError(thrown) })
      throw new StateUnavailable('the state cannot be written', { cause: thrown })
    }
  }
}
