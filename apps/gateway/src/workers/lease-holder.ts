import type { Channel } from '@chancery/service-kit'
import { LEASE_MS, type Lease } from './messages.ts'

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
