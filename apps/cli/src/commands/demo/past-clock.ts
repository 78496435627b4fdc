import type { Instant } from '@chancery/protocol'

/** The clock of an authority while the demo creates past activity. It runs on between the steps, so no two events tie. */
export class PastClock {
  #at: Instant
  #movedAtMs: number = performance.now()

  constructor(start: Instant) {
    this.#at = start
  }

  now = (): Instant => this.#at + BigInt(Math.floor((performance.now() - this.#movedAtMs) * 1000))

  monotonicMs = (): number => performance.now()

  /** Moves forwards only: an authority refuses to date a record before an earlier one. */
  moveTo(at: Instant): void {
    const now = this.now()
    this.#at = at > now ? at : now
    this.#movedAtMs = performance.now()
  }
}
