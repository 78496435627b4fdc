import type { Clock } from '../clock.ts'
import type { MaybePromise } from '../async/maybe-promise.ts'
import type { Limiter } from './limiter.ts'
import { SlidingWindow } from './window.ts'

const MAX_KEYS = 100_000
/** Idle keys dropped per hit. More than the one key a hit can add, and too few to block the event loop. */
const DROPS_PER_HIT = 16

interface StoredWindow {
  readonly bucket: string
  readonly window: SlidingWindow
  before: StoredWindow | undefined
  after: StoredWindow | undefined
}

/**
 * Windows of this process. Memory is limited twice: a key without a hit in its window is dropped, and over 100,000 keys
 * the one with the oldest counted hit is dropped. A caller with that many addresses can remove another caller's window,
 * but gains nothing: each new address has a new window anyway.
 *
 * The order is a linked list. A map in which each hit removes and adds its key also has an order, but finding its first
 * key takes as long as the map has removed keys: 6 us with 5,000 callers, 15 us with 20,000.
 */
export class MemoryLimiter implements Limiter {
  readonly name = 'memory'
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #maxKeys: number
  readonly #windows = new Map<string, StoredWindow>()
  /** In order of the last counted hit: every counted hit moves its key to the end. */
  #first: StoredWindow | undefined
  #last: StoredWindow | undefined

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
    const stored = this.#windows.get(bucket)
    const window = stored?.window ?? new SlidingWindow()
    if (!window.hit(now, limit)) return false
    if (stored === undefined) this.#add(bucket, window)
    else this.#moveToEnd(stored)
    return true
  }

  /** Counts hits that another process has accepted. */
  add(bucket: string, hits: number): void {
    for (let counted = 0; counted < hits; counted += 1) void this.hit(bucket, Number.POSITIVE_INFINITY)
  }

  isOver(bucket: string, limit: number): MaybePromise<boolean> {
    return this.#windows.get(bucket)?.window.isOver(this.#clock.monotonicMs(), limit) ?? limit < 1
  }

  used(bucket: string): MaybePromise<number> {
    return this.#windows.get(bucket)?.window.used(this.#clock.monotonicMs()) ?? 0
  }

  async probe(): Promise<void> {}

  async close(): Promise<void> {
    this.#windows.clear()
    this.#first = this.#last = undefined
  }

  #add(bucket: string, window: SlidingWindow): void {
    const stored = { bucket, window, before: undefined, after: undefined }
    this.#windows.set(bucket, stored)
    this.#append(stored)
    if (this.#windows.size > this.#maxKeys && this.#first !== undefined) this.#drop(this.#first)
  }

  #moveToEnd(stored: StoredWindow): void {
    if (stored === this.#last) return
    this.#unlink(stored)
    this.#append(stored)
  }

  #dropIdle(now: number): void {
    for (let drops = 0; drops < DROPS_PER_HIT && this.#first?.window.isIdle(now) === true; drops += 1)
      this.#drop(this.#first)
  }

  #drop(stored: StoredWindow): void {
    this.#windows.delete(stored.bucket)
    this.#unlink(stored)
  }

  #append(stored: StoredWindow): void {
    stored.before = this.#last
    stored.after = undefined
    if (this.#last === undefined) this.#first = stored
    else this.#last.after = stored
    this.#last = stored
  }

  #unlink({ before, after }: StoredWindow): void {
    if (before === undefined) this.#first = after
    else before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
  }
}
