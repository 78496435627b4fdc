import type { NoAnswer } from '@chancery/protocol'
import { FairQueue } from '@chancery/service-kit'

/** Questions that wait, in total and of one caller. More are denied at once. */
const MAX_WAITING = 500
const MAX_WAITING_OF_CALLER = 128
const OVERLOADED: NoAnswer = { kind: 'none', failure: 'overloaded' }

export interface QuestionLimits {
  /** Questions asked at the same time, in total and of one caller. */
  readonly atOnce: number
  readonly atOnceOfCaller: number
  /** A question that waited this long for its turn is dropped. */
  readonly maxWaitMs: number
}

/** Questions of decisions: those of different callers in turn, and none that waited too long. */
export class WaitingQuestions {
  readonly #queue: FairQueue
  readonly #maxWaitMs: number
  readonly #waiting = new Map<string, number>()
  #total = 0

  constructor({ maxWaitMs, ...limits }: QuestionLimits) {
    this.#queue = new FairQueue({ ...limits, shortMs: 0, restFactor: 0, restMaxMs: 0 })
    this.#maxWaitMs = maxWaitMs
  }

  async take<Answer>(caller: string, work: () => Promise<Answer>): Promise<Answer | NoAnswer> {
    const own = this.#waiting.get(caller) ?? 0
    if (this.#total >= MAX_WAITING || own >= MAX_WAITING_OF_CALLER) return OVERLOADED
    this.#count(caller, 1)
    const slot = this.#queue.take(caller)
    const limit = setTimeout(() => slot.drop(), this.#maxWaitMs)
    const isGranted = await slot.granted
    clearTimeout(limit)
    this.#count(caller, -1)
    if (!isGranted) return OVERLOADED
    try {
      return await work()
    } finally {
      slot.end()
    }
  }

  #count(caller: string, change: number): void {
    const own = (this.#waiting.get(caller) ?? 0) + change
    this.#total += change
    if (own === 0) this.#waiting.delete(caller)
    else this.#waiting.set(caller, own)
  }
}
