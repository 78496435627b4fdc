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
