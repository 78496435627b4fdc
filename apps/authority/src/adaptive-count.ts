import type { Clock } from '@chancery/service-kit'

const SLOW_MS = 25
const MAX_AGE_MS = 2000

/**
 * A count for public pages. While counting is quick every caller gets a fresh one; once a table has grown so large that
 * counting takes longer than 25 ms, callers get the last count, at most about two seconds old, and one of them causes
 * the next. No counter row has to be kept true by every write.
 */
export class AdaptiveCount {
  readonly #clock: Clock
  readonly #count: () => Promise<number>
  #last: { readonly value: number; readonly at: number; readonly tookMs: number } | undefined
  #running: Promise<number> | undefined

  constructor(clock: Clock, count: () => Promise<number>) {
    this.#clock = clock
    this.#count = count
  }

  async read(): Promise<number> {
    const last = this.#last
    if (last === undefined || last.tookMs < SLOW_MS) return this.#refresh()
    const age = this.#clock.monotonicMs() - last.at
    if (age < MAX_AGE_MS / 2) return last.value
    const refreshed = this.#refreshOnce()
    return age < MAX_AGE_MS ? last.value : refreshed
  }

  #refreshOnce(): Promise<number> {
    this.#running ??= this.#refresh().finally(() => {
      this.#running = undefined
    })
    // Whoever does not wait for it must not turn its failure into an unhandled one.
    this.#running.catch(() => undefined)
    return this.#running
  }

  async #refresh(): Promise<number> {
    const started = this.#clock.monotonicMs()
    const value = await this.#count()
    const at = this.#clock.monotonicMs()
    this.#last = { value, at, tookMs: at - started }
    return value
  }
}
