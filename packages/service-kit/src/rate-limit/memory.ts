import type { Clock } from '../clock.ts'
import type { MaybePromise } from '../async/maybe-promise.ts'
import type { Limiter } from './limiter.ts'
import { SlidingWindow } from './window.ts'

const MAX_KEYS = 100_000
/** Idle keys dropped per hit. More than the one key a hit can add, and too few to block the event loop. */
const DROPS_PER_HIT = 16

/**
 * Windows of this process. Memory is limited twice: a key without a hit in its window is dropped, and over 100,000 keys
 * the one with the oldest counted hit is dropped. A caller with that many addresses can remove another caller's window,
 * but gains nothing: each new address has a new window anyway.
 */
export class MemoryLimiter implements Limiter {
  readonly name = 'memory'
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #maxKeys: number
  /** In order of the last counted hit: every counted hit moves its key to the end. */
  readonly #windows = new Map<string, SlidingWindow>()

  constructor(clock: Pick<Clock, 'monotonicMs'>, maxKeys: number = MAX_KEYS) {
    this.#clock = clock
    this.#maxKeys = maxKeys
  }

  /** Number of stored keys. */
  get size(): number {
    return this.#windows.size
  }

  hit(bucket: string, limit: number): MaybePromise<boolean> {
    const now = this.#clock.monotonicMs()
    this.#dropIdle(now)
    const window = this.#windows.get(bucket) ?? new SlidingWindow()
    if (!window.hit(now, limit)) return false
    this.#windows.delete(bucket)
    this.#windows.set(bucket, window)
    if (this.#windows.size > this.#maxKeys) this.#dropOldest()
    return true
  }

  /** Counts hits that another process has accepted. */
  add(bucket: string, hits: number): void {
    for (let counted = 0; counted < hits; counted += 1) void this.hit(bucket, Number.POSITIVE_INFINITY)
  }

  isOver(bucket: string, limit: number): MaybePromise<boolean> {
    return this.#windows.get(bucket)?.isOver(this.#clock.monotonicMs(), limit) ?? limit < 1
  }

  used(bucket: string): MaybePromise<number> {
    return this.#windows.get(bucket)?.used(this.#clock.monotonicMs()) ?? 0
  }

  async probe(): Promise<void> {}

  async close(): Promise<void> {
    this.#windows.clear()
  }

  #dropIdle(now: number): void {
    let drops = 0
    for (const [bucket, window] of this.#windows) {
      if (drops === DROPS_PER_HIT || !window.isIdle(now)) return
      this.#windows.delete(bucket)
      drops += 1
    }
  }

  #dropOldest(): void {
    const oldest = this.#windows.keys().next()
    if (oldest.done !== true) this.#windows.delete(oldest.value)
  }
}
