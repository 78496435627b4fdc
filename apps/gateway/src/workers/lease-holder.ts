import { BatchFullError, type Channel, ChannelError } from '@chancery/service-kit'
import { LEASE_MS, type Lease } from './trust-messages.ts'
import type { JsonObject } from '@chancery/protocol'
import type { StoredCheckpoint } from '../state/checkpoints.ts'
import { type StateAccess, StateUnavailableError } from '../state/durable-state.ts'
import { NO_USAGE, type StateUsage } from '../state/verify-state.ts'
import { QuotaUnavailableError } from '../quota/quota.ts'
import type { Quota, QuotaClaim, QuotaResult, SpendResult, SpentProof } from '../quota/quota.ts'

const LEASE_NS = BigInt(LEASE_MS) * 1_000_000n

/** The last lease of the supervisor. */
export class LeaseHolder {
  #lease: Lease
  #renewal = Promise.withResolvers<void>()

  constructor(first: Lease, channel: Channel) {
    this.#lease = first
    channel.serve({ lease: (lease: Lease) => this.#renew(lease) })
  }

  get current(): Lease {
    return this.#lease
  }

  isValid(): boolean {
    return process.hrtime.bigint() - this.#lease.sentNs < LEASE_NS
  }

  /** Waits for a valid lease, for the time of one. */
  async renewed(): Promise<boolean> {
    const deadline = performance.now() + LEASE_MS
    while (!this.isValid()) {
      const left = deadline - performance.now()
      if (left <= 0) return false
      let timer: NodeJS.Timeout | undefined
      const limit = new Promise<void>((resolve) => {
        timer = setTimeout(resolve, left)
      })
      await Promise.race([this.#renewal.promise, limit])
      clearTimeout(timer)
    }
    return true
  }

  #renew(lease: Lease): void {
    this.#lease = lease
    this.#renewal.resolve()
    this.#renewal = Promise.withResolvers()
  }
}

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

const PROBE_MS = 1000

/** The counters of the supervisor: all workers count together, and a proof is accepted by one of them. */
export class RemoteQuota implements Quota {
  readonly #channel: Channel

  constructor(channel: Channel) {
    this.#channel = channel
  }

  claim(claim: QuotaClaim): Promise<QuotaResult> {
    return this.#call('claimQuota', claim)
  }

  spend(proof: SpentProof, claim?: QuotaClaim): Promise<SpendResult> {
    return this.#call('spendProof', { proof, claim })
  }

  async probe(): Promise<boolean> {
    try {
      return await this.#channel.call<boolean>('probeQuota', undefined, PROBE_MS)
    } catch {
      return false
    }
  }

  async close(): Promise<void> {}

  async #call<Value>(operation: string, argument: unknown): Promise<Value> {
    try {
      return await this.#channel.call<Value>(operation, argument)
    } catch (error) {
      throw new QuotaUnavailableError('the supervisor did not count', { cause: error })
    }
  }
}
