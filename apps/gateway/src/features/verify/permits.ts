import { GatewayRefusal } from '@chancery/contract'
import { endingWith } from '@chancery/service-kit'
import type { Soon } from '@chancery/service-kit'

/**
 * Places for cryptography: nothing queues, whoever finds none is told so (protocol/gateway 7.3). A place is given back
 * by the work that holds it when it really ends, not by the caller who may be gone.
 */
export class Permits {
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

  forOne<Value>(work: () => Soon<Value>): Soon<Value> {
    this.#takeWorker()
    return endingWith(work, () => {
      this.#active -= 1
    })
  }

  /** Whether a batch would find its places now. */
  get hasBatchPlace(): boolean {
    return this.#activeBatches < this.#batches && this.#active < this.#workers
  }

  async forBatch<Value>(work: () => Promise<Value>): Promise<Value> {
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
