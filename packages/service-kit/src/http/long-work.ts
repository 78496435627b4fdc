import { type BudgetName, type Route, SERVER_LIMITS, budgetOf } from '@chancery/contract'
import { FairQueue, type QueueSlot } from '../async/fair-queue.ts'
import { Verifications } from './verifications.ts'

const LIMITS = { atOnce: SERVER_LIMITS.queuedBodiesAtOnce, shortMs: 2, restFactor: 9, restMaxMs: 3000 }

/**
 * Queues requests whose body blocks the event loop for milliseconds to parse and verify. Each address has one at a
 * time, with a pause after a long one, so that it gets at most a tenth of the loop's time. Each kind of route has its
 * own queue, as it has its own body budget.
 */
export class LongWork {
  readonly #queues = new Map<BudgetName, FairQueue>()

  /** Returns undefined for a body that is parsed and verified in under a millisecond. */
  slotFor(route: Route, address: string, bodyBytes: number): QueueSlot | undefined {
    const from = Verifications.covers(route) ? SERVER_LIMITS.queuedVerificationBytes : SERVER_LIMITS.queuedBodyBytes
    if (bodyBytes < from) return undefined
    const budget = budgetOf(route)
    const queue = this.#queues.get(budget) ?? new FairQueue(LIMITS)
    this.#queues.set(budget, queue)
    return queue.take(address)
  }
}
