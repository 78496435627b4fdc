import type { Clock } from '../clock.ts'
import { describeChain } from './fields.ts'

const PAUSE_MS = 60_000
const MAX_TEXTS = 100

/**
 * While something outside is away, such as the database, every job and every request fails for the same cause. Of the
 * lines that say so, each event is written once a minute, with the number of those left out and without a stack.
 */
export class OutageLines {
  readonly #isOutage: (error: Error) => boolean
  readonly #clock: Clock
  readonly #written = new Map<string, { readonly atMs: number; leftOut: number }>()

  constructor(isOutage: (error: Error) => boolean, clock: Clock) {
    this.#isOutage = isOutage
    this.#clock = clock
  }

  /** Returns what to do with an event about this error: write it as it is, leave it out, or write it in short. */
  take(event: string, error: unknown): 'as it is' | 'left out' | { readonly left_out: number | undefined } {
    if (!(error instanceof Error) || !this.#isOutage(error)) return 'as it is'
    const text = `${event}: ${describeChain(error)}`
    const nowMs = this.#clock.monotonicMs()
    const last = this.#written.get(text)
    if (last !== undefined && nowMs - last.atMs < PAUSE_MS) {
      last.leftOut += 1
      return 'left out'
    }
    // Texts of errors have addresses and names of the infrastructure only; the limit is for those that were not foreseen.
    if (last === undefined && this.#written.size >= MAX_TEXTS) this.#written.clear()
    this.#written.set(text, { atMs: nowMs, leftOut: 0 })
    return { left_out: last === undefined || last.leftOut === 0 ? undefined : last.leftOut }
  }
}
