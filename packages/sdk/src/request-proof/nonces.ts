import type { Instant } from '@chancery/protocol'

/** Remembers which proofs were used. */
export interface NonceMemory {
  /** True when this node key used the nonce for the first time. Throws when that cannot be told. */
  claim(nodeKey: string, nonce: string, until: Instant, now: Instant): boolean | Promise<boolean>
}

const MOST_KEPT = 100_000

/** For one process. Several instances of a service share a memory of their own, or each takes a proof once. */
export class MemoryNonces implements NonceMemory {
  readonly #used = new Map<string, Instant>()
  readonly #most: number

  constructor(most: number = MOST_KEPT) {
    this.#most = most
  }

  claim(nodeKey: string, nonce: string, until: Instant, now: Instant): boolean {
    this.#forget(now)
    const name = `${nodeKey} ${nonce}`
    if (this.#used.has(name)) return false
    // Forgetting one that still counts would let it be used again; refusing is the safe side.
    if (this.#used.size >= this.#most) throw new Error('too many proofs to remember')
    this.#used.set(name, until)
    return true
  }

  /** In the order they came, which is nearly the order they end in; the rest goes in a later call. */
  #forget(now: Instant): void {
    for (const [name, until] of this.#used) {
      if (until >= now) return
      this.#used.delete(name)
    }
  }
}
