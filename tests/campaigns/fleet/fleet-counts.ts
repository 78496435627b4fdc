import { Histogram } from './histogram.ts'
import type { FleetReport } from './messages.ts'

const KEPT_VIOLATIONS = 20

/** Counts since the end of the warm-up, and those of the whole run. */
export class FleetCounts {
  #answers = new Histogram()
  #waits = new Histogram()
  #sinceMs = 0
  #measured = { due: 0, renewals: 0, polls: 0, unchangedPolls: 0 }
  readonly #whole = { allAcknowledged: 0, overloaded: 0, lost: 0, refusedRevoked: 0 }
  readonly #violations: string[] = []
  #violationCount = 0

  endWarmUp(nowMs: number): void {
    this.#sinceMs = nowMs
    this.#answers = new Histogram()
    this.#waits = new Histogram()
    this.#measured = { due: 0, renewals: 0, polls: 0, unchangedPolls: 0 }
  }

  add(name: 'due' | 'renewals' | 'polls' | 'unchangedPolls'): void {
    this.#measured[name] += 1
  }

  note(name: 'overloaded' | 'lost' | 'refusedRevoked'): void {
    this.#whole[name] += 1
  }

  acknowledge(answerMs: number, lateMs: number): void {
    this.#whole.allAcknowledged += 1
    this.#answers.add(answerMs)
    this.#waits.add(lateMs)
  }

  violate(sentence: string): void {
    this.#violationCount += 1
    if (this.#violations.length < KEPT_VIOLATIONS) this.#violations.push(sentence)
  }

  report(nowMs: number): FleetReport {
    const more = this.#violationCount - this.#violations.length
    return {
      seconds: (nowMs - this.#sinceMs) / 1000,
      ...this.#measured,
      ...this.#whole,
      acknowledged: this.#answers.count,
      answerP50Ms: this.#answers.quantile(0.5),
      answerP99Ms: this.#answers.quantile(0.99),
      waitP99Ms: this.#waits.quantile(0.99),
      violations: more === 0 ? this.#violations : [...this.#violations, `${more} more`],
    }
  }
}
