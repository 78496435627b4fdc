import type { Clock } from '@chancery/service-kit'

/** Answers that take longer on average, and rows that wait longer to be stored, are pressure. */
const SLOW_ANSWER_MS = 250
const SLOW_STORE_MS = 1000
/** A heartbeat that could not be answered counts as one that took at least so long. */
const FAILED_MS = 1000
/** Up by half after this time under pressure, down by a tenth after this time without. */
const UP_AFTER_MS = 30_000
const DOWN_AFTER_MS = 60_000

export interface PaceOptions {
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** The interval of the settings, in seconds, and the slowest one. */
  readonly usual: number
  readonly slowest: number
  /** Age of the oldest heartbeat that is not stored. */
  readonly lagMs: () => number
}

/**
 * The heartbeat interval that nodes are asked for. It grows while the database is too slow for the fleet, and goes back
 * slowly, because a node learns of it with its next heartbeat only.
 */
export class HeartbeatPace {
  readonly #options: PaceOptions
  #asked: number
  #changedMs: number
  #answers = 0
  #totalMs = 0
  #longestLagMs = 0

  constructor(options: PaceOptions) {
    this.#options = options
    this.#asked = options.usual
    this.#changedMs = options.clock.monotonicMs()
  }

  /** Interval in seconds. */
  get seconds(): number {
    return this.#asked
  }

  get isUsual(): boolean {
    return this.#asked === this.#options.usual
  }

  /**
   * Notes how long the database took for one heartbeat, with the wait in the queue. A full queue refuses at once, which
   * is pressure and no fast answer.
   */
  note(durationMs: number, outcome: 'answered' | 'failed' = 'answered'): void {
    this.#answers += 1
    this.#totalMs += outcome === 'failed' ? Math.max(durationMs, FAILED_MS) : durationMs
    this.#longestLagMs = Math.max(this.#longestLagMs, this.#options.lagMs())
  }

  /** Chooses the next interval from what was noted since the last call. It is stored before nodes are asked for it. */
  async choose(store: (seconds: number) => Promise<void>): Promise<void> {
    const next = this.#next()
    if (next !== this.#options.usual) await store(next)
    if (next === this.#asked) return
    this.#asked = next
    this.#changedMs = this.#options.clock.monotonicMs()
  }

  #next(): number {
    const { clock, usual, slowest, lagMs } = this.#options
    const lag = Math.max(this.#longestLagMs, lagMs())
    const isPressed = lag > SLOW_STORE_MS || this.#totalMs > SLOW_ANSWER_MS * this.#answers
    this.#answers = 0
    this.#totalMs = 0
    this.#longestLagMs = 0
    const ageMs = clock.monotonicMs() - this.#changedMs
    if (isPressed) return ageMs < UP_AFTER_MS ? this.#asked : Math.min(slowest, Math.ceil(this.#asked * 1.5))
    return ageMs < DOWN_AFTER_MS ? this.#asked : Math.max(usual, Math.floor(this.#asked * 0.9))
  }
}
