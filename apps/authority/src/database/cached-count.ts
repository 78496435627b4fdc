import type { Clock } from '@chancery/service-kit'

const SLOW_MS = 25
const MAX_AGE_MS = 2000

/**
 * A count for public pages. While counting is quick every caller gets a fresh one; once a table has grown so large that
 * counting takes longer than 25 ms, callers get the last count, at most about two seconds old, and one of them causes
 * the next. No counter row has to be kept true by every write. Of a small table every count is fresh, however slow a
 * busy machine was with the last one.
 */
export class AdaptiveCount {
  readonly #clock: Clock
  readonly #count: () => Promise<number>
  readonly #isLarge: () => Promise<boolean>
  #last: { readonly value: number; readonly at: number; readonly isSlow: boolean } | undefined
  #running: Promise<number> | undefined

  /** `isLarge` is asked only after a slow count. */
  constructor(clock: Clock, count: () => Promise<number>, isLarge: () => Promise<boolean>) {
    this.#clock = clock
    this.#count = count
    this.#isLarge = isLarge
  }

  async read(): Promise<number> {
    const last = this.#last
    if (last === undefined || !last.isSlow) return this.#refresh()
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
    // Time alone says nothing: it holds the wait for a connection and for the processor, too.
    const isSlow = at - started >= SLOW_MS && (await this.#isLarge())
    this.#last = { value, at, isSlow }
    return value
  }
}
