import type { Clock } from '../system.ts'
import type { MaybePromise } from '../async/steps.ts'
import type { Limiter } from './limiter.ts'

/** The window of every limit (protocol/core 21). */
export const WINDOW_MS = 60_000

const MAX_RUNS = 256

/**
 * One key's sliding window: the times of the accepted hits.
 *
 * Up to 256 allowed hits per window it is exact: each hit has its own time. For larger limits, hits within 1/256 of the
 * window (0.23 s of a minute) share one entry with the time of the latest, so memory per key is limited. The error is
 * on the strict side: no window has more hits than the limit, and a caller that waits one window after a refusal always
 * passes.
 *
 * A refused hit is not stored, so retries do not make a caller wait longer.
 */
export class SlidingWindow {
  readonly #windowMs: number
  readonly #maxRuns: number
  /** Per run the time of its latest hit, and its number of hits. Runs before #head have left the window. */
  #times: number[] = []
  #counts: number[] = []
  #head = 0
  #total = 0
  /** Time of the first hit of the newest run. */
  #openedAt = 0

  constructor(windowMs: number = WINDOW_MS, maxRuns: number = MAX_RUNS) {
    this.#windowMs = windowMs
    this.#maxRuns = maxRuns
  }

  /** Counts the hit and returns true while fewer than `limit` hits are in the window that ends now. */
  hit(nowMs: number, limit: number): boolean {
    if (this.isOver(nowMs, limit)) return false
    const newest = this.#times.length - 1
    const newestTime = this.#times[newest]
    // Times must stay ordered: an unordered list would never drop hits.
    const at = newestTime === undefined ? nowMs : Math.max(nowMs, newestTime)
    const grain = limit > this.#maxRuns ? this.#windowMs / this.#maxRuns : 0
    if (newest >= this.#head && (at === newestTime || at - this.#openedAt < grain)) {
      this.#times[newest] = at
      this.#counts[newest] = (this.#counts[newest] ?? 0) + 1
    } else {
      this.#times.push(at)
      this.#counts.push(1)
      this.#openedAt = at
    }
    this.#total += 1
    return true
  }

  /** Whether the next hit would be refused; counts nothing. */
  isOver(nowMs: number, limit: number): boolean {
    return this.used(nowMs) >= limit
  }

  /** Hits in the window that ends now. */
  used(nowMs: number): number {
    this.#forget(nowMs)
    return this.#total
  }

  /** True when every hit has left the window, so that deleting this key changes no result. */
  isIdle(nowMs: number): boolean {
    const newest = this.#times.at(-1)
    return newest === undefined || nowMs - newest >= this.#windowMs
  }

  #forget(nowMs: number): void {
    for (;;) {
      const oldest = this.#times[this.#head]
      if (oldest === undefined || nowMs - oldest < this.#windowMs) break
      this.#total -= this.#counts[this.#head] ?? 0
      this.#head += 1
    }
    if (this.#head === 0 || this.#head * 2 < this.#times.length) return
    this.#times = this.#times.slice(this.#head)
    this.#counts = this.#counts.slice(this.#head)
    this.#head = 0
  }
}

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
