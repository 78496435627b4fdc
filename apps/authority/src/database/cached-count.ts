import type { Clock } from '@chancery/service-kit'

const SLOW_MS = 25
const MAX_AGE_MS = 2000

/**
 * A count for public pages. While counting is fast every caller gets a fresh one. When counting a large table takes
 * longer than 25 ms, callers get the last count, at most about two seconds old, and one of them causes the next. So no
 * write has to update a counter row. Counts of a small table are always fresh, however slow the last one was.
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
    // The failure must not be unhandled when no caller waits for it.
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
