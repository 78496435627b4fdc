import type { Clock } from '../system.ts'
import type { Log } from '../log/log.ts'

/** Logs once when a service is no longer ready and once when it is ready again, however often it is probed. */
export class ReadinessEvents {
  readonly #log: Log
  readonly #clock: Clock
  #lostMs: number | undefined

  constructor(log: Log, clock: Clock) {
    this.#log = log
    this.#clock = clock
  }

  /** Takes the reasons of one check; none means ready. A requested stop is not logged. */
  see(reasons: readonly string[]): void {
    const nowMs = this.#clock.monotonicMs()
    if (reasons.includes('stopping')) return
    if (reasons.length > 0 && this.#lostMs === undefined) {
      this.#lostMs = nowMs
      this.#log.error(`not ready: ${reasons.join(', ')}`, { alarm: true })
    } else if (reasons.length === 0 && this.#lostMs !== undefined) {
      this.#log.warn('ready again', { not_ready_seconds: Math.round((nowMs - this.#lostMs) / 100) / 10 })
      this.#lostMs = undefined
    }
  }
}
