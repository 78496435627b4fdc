import type { Channel } from '@chancery/service-kit'
import { QuotaUnavailableError } from '../quota/quota.ts'
import type { Quota, QuotaClaim, QuotaResult, SpendResult, SpentProof } from '../quota/quota.ts'

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

  spend(proof: SpentProof, claim: QuotaClaim): Promise<SpendResult> {
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
