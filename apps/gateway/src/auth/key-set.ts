import type { JsonObject } from '@chancery/protocol'
import { type Clock, type Log, fetchKeySet, sleep, toError } from '@chancery/service-kit'

export interface KeySetParts {
  readonly url: URL
  readonly extraRoots: readonly string[]
  readonly clock: Clock
  readonly log: Log
}

const FETCH_MS = 3000
const MAX_BYTES = 1_048_576
const CACHED_MS = 300_000
/** Renewed before it expires, so that no request waits for it. */
const RENEW_MS = 240_000
const EARLY_EVERY_MS = 30_000
const MAX_BACK_OFF_MS = 60_000

/**
 * Fetches the key set of the pinned address (protocol/gateway 3.10). It is renewed in the background, one fetch at a
 * time. An unknown key id causes at most one early fetch in 30 s, so that invented tokens cannot flood that address.
 */
export class KeySet {
  readonly #parts: KeySetParts
  readonly #stop = new AbortController()
  readonly #loop: Promise<void>
  #keys: readonly JsonObject[] = []
  #fetchedAt = Number.NEGATIVE_INFINITY
  #earlyAt: number
  #fetching: Promise<boolean> | undefined

  constructor(parts: KeySetParts) {
    this.#parts = parts
    this.#earlyAt = parts.clock.monotonicMs()
    this.#loop = this.#renew()
  }

  /** Returns the current keys, or none when the set is too old. */
  keys(): readonly JsonObject[] {
    return this.#parts.clock.monotonicMs() - this.#fetchedAt < CACHED_MS ? this.#keys : []
  }

  /** Fetches again because of an unknown key id, when that is due. Only the caller that causes the fetch waits. */
  async refetch(): Promise<void> {
    const now = this.#parts.clock.monotonicMs()
    if (now - this.#earlyAt < EARLY_EVERY_MS) return
    this.#earlyAt = now
    await this.#fetchOnce()
  }

  async close(): Promise<void> {
    this.#stop.abort()
    await this.#loop
  }

  async #renew(): Promise<void> {
    const { signal } = this.#stop
    let backOffMs = 1000
    while (!signal.aborted) {
      const isFetched = await this.#fetchOnce()
      backOffMs = isFetched ? 1000 : Math.min(backOffMs * 2, MAX_BACK_OFF_MS)
      await sleep(isFetched ? RENEW_MS : backOffMs, signal)
    }
  }

  #fetchOnce(): Promise<boolean> {
    this.#fetching ??= this.#fetch().finally(() => {
      this.#fetching = undefined
    })
    return this.#fetching
  }

  async #fetch(): Promise<boolean> {
    const { url, extraRoots, clock, log } = this.#parts
    try {
      const call = { url, extraRoots, timeoutMs: FETCH_MS, maxBytes: MAX_BYTES, signal: this.#stop.signal }
      this.#keys = (await fetchKeySet(call)).keys
      this.#fetchedAt = clock.monotonicMs()
      return true
    } catch (thrown) {
      if (!this.#stop.signal.aborted) log.warn('key set not fetched', { error: toError(thrown) })
      return false
    }
  }
}
