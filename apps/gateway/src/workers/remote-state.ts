import type { JsonObject } from '@chancery/protocol'
import { BatchFullError, type Channel, ChannelError } from '@chancery/service-kit'
import type { StoredCheckpoint } from '../state/checkpoints.ts'
import { type StateAccess, StateUnavailableError } from '../state/durable-state.ts'
import { NO_USAGE, type StateUsage } from '../state/state-calls.ts'
import type { LeaseHolder } from './lease-holder.ts'

/** The state of the supervisor, which alone writes the file. A call resolves after the commit there. */
export class RemoteState implements StateAccess {
  readonly #channel: Channel
  readonly #lease: LeaseHolder
  #measured: { readonly usage: StateUsage; readonly lease: unknown } | undefined

  constructor(channel: Channel, lease: LeaseHolder) {
    this.#channel = channel
    this.#lease = lease
  }

  get isHealthy(): boolean {
    return !this.#channel.hasEnded && (this.#lease.current.state?.isHealthy ?? false)
  }

  get usage(): StateUsage {
    const { current } = this.#lease
    return this.#measured?.lease === current ? this.#measured.usage : (current.state?.usage ?? NO_USAGE)
  }

  async append(...events: readonly JsonObject[]): Promise<void> {
    await this.#call('appendEvents', events)
  }

  async measure(): Promise<StateUsage> {
    const usage = await this.#call<StateUsage>('measureState', undefined)
    this.#measured = { usage, lease: this.#lease.current }
    return usage
  }

  findStored(network: string, issuer: string): Promise<StoredCheckpoint | undefined> {
    return this.#call('findStored', { network, issuer })
  }

  findEvents(requestId: string, newest: number): Promise<readonly JsonObject[]> {
    return this.#call('findEvents', { requestId, newest })
  }

  /** The supervisor closes the state after the last worker. */
  async close(): Promise<void> {}

  async #call<Value>(operation: string, argument: unknown): Promise<Value> {
    try {
      return await this.#channel.call<Value>(operation, argument)
    } catch (error) {
      if (error instanceof ChannelError && error.kind === 'BatchFullError') throw new BatchFullError()
      throw new StateUnavailableError('the supervisor did not write the state', { cause: error })
    }
  }
}
