import type { Instant } from '@chancery/protocol'

/** Remembers which proofs were used. */
export interface NonceMemory {
  /** True when this node key used the nonce for the first time. Throws when that cannot be told. */
  claim(nodeKey: string, nonce: string, until: Instant, now: Instant): boolean | Promise<boolean>
}

const MOST_KEPT = 100_000

/**
 * For one process. Several instances of a service share a memory of their own, or each takes a proof once; so does a
 * process that was started anew, for as long as the proof is not stale.
 */
export class MemoryNonces implements NonceMemory {
  readonly #used = new Map<string, { readonly nodeKey: string; readonly until: Instant }>()
  readonly #counts = new Map<string, number>()
  readonly #most: number
  #forgottenUntil: Instant | undefined

  constructor(most: number = MOST_KEPT) {
    this.#most = most
  }

  claim(nodeKey: string, nonce: string, until: Instant, now: Instant): boolean {
    this.#forget(now)
    const name = `${nodeKey} ${nonce}`
    if (this.#used.has(name)) return false
    // It may be one of those forgotten as stale: a clock that goes back must not bring them to life.
    if (this.#forgottenUntil !== undefined && until <= this.#forgottenUntil)
      throw new Error('the clock was turned back: this proof may have been used')
    // Forgetting one that still counts would let it be used again; refusing is the safe side. A node may have as many as
    // are still free, so that one node, or some together, never have all others refused.
    const count = this.#counts.get(nodeKey) ?? 0
    if (count >= this.#most - this.#used.size) throw new Error('too many proofs to remember')
    this.#used.set(name, { nodeKey, until })
    this.#counts.set(nodeKey, count + 1)
    return true
  }

  /** In the order they came, which is nearly the order they end in; the rest goes in a later call. */
  #forget(now: Instant): void {
    for (const [name, { nodeKey, until }] of this.#used) {
      if (until >= now) return
      this.#used.delete(name)
      const left = (this.#counts.get(nodeKey) ?? 1) - 1
      if (left === 0) this.#counts.delete(nodeKey)
      else this.#counts.set(nodeKey, left)
      if (this.#forgottenUntil === undefined || until > this.#forgottenUntil) this.#forgottenUntil = until
    }
  }
}
