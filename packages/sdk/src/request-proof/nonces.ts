import type { Instant } from '@chancery/protocol'

/** Stores used proofs. */
export interface NonceStore {
  /**
   * Returns true when the key is claimed for the first time. It begins with the node key and has the nonce. Throws when
   * this cannot be checked.
   */
  claim(key: string, until: Instant, now: Instant): boolean | Promise<boolean>
}

const MAX_CACHED = 100_000

/**
 * For one process. Several instances of a service need a shared store, or each accepts a proof once; so does a
 * restarted process, until the proof is stale.
 */
export class MemoryNonceStore implements NonceStore {
  readonly #used = new Map<string, { readonly nodeKey: string; readonly until: Instant }>()
  readonly #counts = new Map<string, number>()
  readonly #most: number
  #purgedUntil: Instant | undefined

  constructor(most: number = MAX_CACHED) {
    this.#most = most
  }

  claim(name: string, until: Instant, now: Instant): boolean {
    this.#purge(now)
    const [nodeKey = ''] = name.split(' ', 1)
    if (this.#used.has(name)) return false
    // It may be a purged one: a clock that goes back must not make purged proofs valid again.
    if (this.#purgedUntil !== undefined && until <= this.#purgedUntil)
      throw new Error('the clock moved back: the proof may be a replay')
    // Purging a current one would allow a replay, so new ones are refused. A node may use as many as
    // are still free, so that one node, or some together, cannot block all others.
    const count = this.#counts.get(nodeKey) ?? 0
    if (count >= this.#most - this.#used.size) throw new Error('too many proofs to store')
    this.#used.set(name, { nodeKey, until })
    this.#counts.set(nodeKey, count + 1)
    return true
  }

  /** In the order they came, which is nearly the order they end in; the rest goes in a later call. */
  #purge(now: Instant): void {
    for (const [name, { nodeKey, until }] of this.#used) {
      if (until >= now) return
      this.#used.delete(name)
      const left = (this.#counts.get(nodeKey) ?? 1) - 1
      if (left === 0) this.#counts.delete(nodeKey)
      else this.#counts.set(nodeKey, left)
      if (this.#purgedUntil === undefined || until > this.#purgedUntil) this.#purgedUntil = until
    }
  }
}
