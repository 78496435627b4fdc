import type { Clock, Counter, Log } from '@chancery/service-kit'
import type { WindowHits } from './shared-limiter.ts'
import type { WindowCounts } from './shared-limiter.ts'

/** How long the first place is left alone after a failure: a slow one would otherwise hold every call. */
const REST_MS = 1000

export interface FallbackTools {
  readonly clock: Pick<Clock, 'monotonicMs'>
  readonly log: Log
  /** Counts that the second place had to take. */
  readonly fallbacks: Counter
}

/**
 * Counts in the first place, and in the second while the first does not answer; when neither can, the call fails. A
 * window that changes its place begins anew there, so in the worst case a caller is let through twice its limit, once:
 * both places keep what they have counted.
 */
export class FallbackCounts implements WindowCounts {
  readonly #first: WindowCounts
  readonly #second: WindowCounts
  readonly #tools: FallbackTools
  #isResting = false
  #restsUntil = 0

  constructor(first: WindowCounts, second: WindowCounts, tools: FallbackTools) {
    this.#first = first
    this.#second = second
    this.#tools = tools
  }

  get name(): string {
    return this.#isResting ? this.#second.name : this.#first.name
  }

  add(rows: readonly WindowHits[]): Promise<readonly number[]> {
    return this.#ask((counts) => counts.add(rows))
  }

  read(bucket: string, windowStart: number): Promise<number> {
    return this.#ask((counts) => counts.read(bucket, windowStart))
  }

  async close(): Promise<void> {
    await this.#first.close()
    await this.#second.close()
  }

  async #ask<Answer>(question: (counts: WindowCounts) => Promise<Answer>): Promise<Answer> {
    if (!this.#isResting || this.#tools.clock.monotonicMs() >= this.#restsUntil) {
      try {
        const answer = await question(this.#first)
        this.#return()
        return answer
      } catch (error) {
        this.#rest(error)
      }
    }
    this.#tools.fallbacks.increase()
    return question(this.#second)
  }

  #rest(error: unknown): void {
    // Once per outage, not once per call.
    if (!this.#isResting)
      this.#tools.log.warn('the limiter falls back', { from: this.#first.name, to: this.#second.name, error })
    this.#isResting = true
    this.#restsUntil = this.#tools.clock.monotonicMs() + REST_MS
  }

  #return(): void {
    if (!this.#isResting) return
    this.#isResting = false
    this.#tools.log.info('the limiter is back', { limiter: this.#first.name })
  }
}
