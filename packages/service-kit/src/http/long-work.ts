import { SERVER_LIMITS, budgetOf } from '@chancery/contract'
import type { Route, BudgetName } from '@chancery/contract'
import { FairQueue } from '../async/fair-queue.ts'
import type { QueueSlot } from '../async/fair-queue.ts'
import { Verifications } from './verifications.ts'

const LIMITS = { atOnce: SERVER_LIMITS.queuedBodiesAtOnce, shortMs: 2, restFactor: 9, restMaxMs: 3000 }

/**
 * Turns for requests whose body takes the event loop for milliseconds to read and to verify: one at a time for each
 * address, with a rest after a long one, so that an address gets a tenth of the loop's time for them. Apart for each kind of route, as the room for their bodies is.
 */
export class LongWork {
  readonly #turns = new Map<BudgetName, FairQueue>()

  /** Undefined for a body that is read and verified in under a millisecond. */
  turnFor(route: Route, address: string, bodyBytes: number): QueueSlot | undefined {
    const from = Verifications.covers(route) ? SERVER_LIMITS.queuedVerificationBytes : SERVER_LIMITS.queuedBodyBytes
    if (bodyBytes < from) return undefined
    const room = budgetOf(route)
    const turns = this.#turns.get(room) ?? new FairQueue(LIMITS)
    this.#turns.set(room, turns)
    return turns.take(address)
  }
}
