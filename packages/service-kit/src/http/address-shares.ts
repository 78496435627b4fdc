import { setTimeout as pause } from 'node:timers/promises'
import { type BudgetName, type Route, SERVER_LIMITS, budgetOf } from '@chancery/contract'
import { FairQueue, type QueueSlot } from '../async/fair-queue.ts'

/**
 * Divides a limited resource (slots, body bytes) among callers. A caller gets more only while it uses less than
 * `factor` times the free amount. With factor 1 a single caller may use half, with 2 two thirds. Some is always left
 * for a caller that uses none.
 */
export class Shares {
  readonly #capacity: number
  readonly #factor: number
  readonly #held = new Map<string, number>()
  #taken = 0

  constructor(capacity: number, factor: 1 | 2) {
    this.#capacity = capacity
    this.#factor = factor
  }

  /** Returns false when there is not enough, or `holder` has its share. */
  take(holder: string, count = 1): boolean {
    const held = this.#held.get(holder) ?? 0
    const free = this.#capacity - this.#taken
    if (count > free || held + count - 1 >= this.#factor * (free - count + 1)) return false
    this.#held.set(holder, held + count)
    this.#taken += count
    return true
  }

  /** Releases an amount taken before. */
  give(holder: string, count = 1): void {
    const left = (this.#held.get(holder) ?? 0) - count
    if (left > 0) this.#held.set(holder, left)
    else this.#held.delete(holder)
    this.#taken -= count
  }

  get hasRoom(): boolean {
    return this.#taken < this.#capacity
  }

  /** Amount in use by all callers. */
  get taken(): number {
    return this.#taken
  }
}

/** How often a call that was held tries to take a slot. */
const TRY_MS = 20

/** Slots of verify routes. Anyone may call them and one call can be expensive, so they use no slots of other routes. */
export class Verifications extends Shares {
  constructor() {
    super(SERVER_LIMITS.verificationsInFlight, 1)
  }

  static covers(route: Route): boolean {
    return route.limit === 'verify'
  }
}

/** Slots of published documents. Revocation lists are read while other calls wait, for example at a switch of the key. */
export class PublishedReads extends Shares {
  constructor() {
    super(SERVER_LIMITS.inFlightRequests, 1)
  }

  static covers(route: Route): boolean {
    return route.limit === 'public'
  }
}

/** Slots of calls that were held: many go on at once, and new calls must be served meanwhile. */
export class ResumedCalls extends Shares {
  constructor() {
    super(SERVER_LIMITS.inFlightRequests / 4, 1)
  }

  /** Waits for a slot, unless the call is over. Returns how to give it back. */
  async enter(address: string, isOver: () => boolean): Promise<() => void> {
    while (!this.take(address)) {
      if (isOver()) return () => undefined
      await pause(TRY_MS)
    }
    return () => this.give(address)
  }
}

/**
 * Slots of revocation routes, so that a revocation is served while other requests of the operator's address are open.
 */
export class Revocations extends Shares {
  constructor() {
    super(SERVER_LIMITS.revocationsInFlight, 1)
  }

  static covers(route: Route): boolean {
    return route.reserve === 'revocation'
  }
}

export interface OwnSlots {
  readonly verifications: Verifications
  readonly revocations: Revocations
  readonly published: PublishedReads
  readonly resumed: ResumedCalls
}

/** The slots of a kind of route. Undefined for those that share the slots of the process. */
export function ownSlotsOf(route: Route, { verifications, revocations, published }: OwnSlots): Shares | undefined {
  if (Verifications.covers(route)) return verifications
  if (PublishedReads.covers(route)) return published
  return Revocations.covers(route) ? revocations : undefined
}

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
