import { GatewayRefusal } from '@chancery/contract'
import { type MaybePromise, withFinally } from '@chancery/service-kit'

/**
 * Limits concurrent cryptography. Nothing is queued: without a free slot the request is refused (protocol/gateway 7.3).
 * A slot is released when the work ends, also when its caller is gone.
 */
export class ConcurrencyLimit {
  readonly #workers: number
  readonly #batches: number
  #active = 0
  #activeBatches = 0

  constructor(workers: number, batches: number) {
    this.#workers = workers
    this.#batches = batches
  }

  get active(): number {
    return this.#active
  }

  run<Value>(work: () => MaybePromise<Value>): MaybePromise<Value> {
    this.#takeWorker()
    return withFinally(work, () => {
      this.#active -= 1
    })
  }

  /** Returns whether a batch could start now. */
  get hasBatchSlot(): boolean {
    return this.#activeBatches < this.#batches && this.#active < this.#workers
  }

  async runBatch<Value>(work: () => Promise<Value>): Promise<Value> {
    if (this.#activeBatches >= this.#batches) throw new GatewayRefusal('batch_capacity')
    this.#takeWorker()
    this.#activeBatches += 1
    try {
      return await work()
    } finally {
      this.#activeBatches -= 1
      this.#active -= 1
    }
  }

  #takeWorker(): void {
    if (this.#active >= this.#workers) throw new GatewayRefusal('crypto_capacity')
    this.#active += 1
  }
}
