import { setTimeout as pause } from 'node:timers/promises'
import type { Clock } from '@chancery/service-kit'
import type { NodeCounts } from './queries/counts.ts'

/** A caller waits this long for counts of a large network. */
const WAIT_MS = 100
/** Counts of a large network are counted again after this time, or later when counting takes long. */
const FRESH_MS = 5000
/** Counting takes a fiftieth of the time at most: the database has other work. */
const REST_FACTOR = 50
const MAX_FRESH_MS = 30_000
/** Older counts are not used. */
const MAX_AGE_MS = 60_000

/**
 * Counts of nodes. In a small network every caller gets fresh ones. In a large one counting takes longer than a page may
 * take: callers get the last counts, and one of them causes the next. Without calls nothing is counted.
 */
export class NodeCounter {
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #count: () => Promise<NodeCounts>
  #last: { readonly counts: NodeCounts; readonly at: number; readonly freshMs: number } | undefined
  #running: Promise<NodeCounts> | undefined

  constructor(clock: Pick<Clock, 'monotonicMs'>, count: () => Promise<NodeCounts>) {
    this.#clock = clock
    this.#count = count
  }

  /** Undefined when the counts of a large network are not ready. */
  async read(isLarge: boolean): Promise<NodeCounts | undefined> {
    if (!isLarge) return this.#count()
    if (this.#last !== undefined && this.#ageMs() < this.#last.freshMs) return this.#last.counts
    const running = this.#refresh()
    const stop = new AbortController()
    const waited = pause(WAIT_MS, undefined, { signal: stop.signal }).catch(() => undefined)
    const counts = await Promise.race([running, waited]).finally(() => stop.abort())
    return counts ?? (this.#ageMs() < MAX_AGE_MS ? this.#last?.counts : undefined)
  }

  #ageMs(): number {
    return this.#last === undefined ? Number.POSITIVE_INFINITY : this.#clock.monotonicMs() - this.#last.at
  }

  #refresh(): Promise<NodeCounts> {
    const began = this.#clock.monotonicMs()
    this.#running ??= this.#count()
      .then((counts) => {
        const at = this.#clock.monotonicMs()
        const freshMs = Math.min(Math.max(FRESH_MS, (at - began) * REST_FACTOR), MAX_FRESH_MS)
        this.#last = { counts, at, freshMs }
        return counts
      })
      .finally(() => {
        this.#running = undefined
      })
    // The failure must not be unhandled when no caller waits for it.
    this.#running.catch(() => undefined)
    return this.#running
  }
}
