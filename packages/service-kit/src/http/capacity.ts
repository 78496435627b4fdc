import { type BudgetName, type Route, SERVER_LIMITS, budgetOf } from '@chancery/contract'
import { FairQueue, type QueueSlot } from '../async/fair-queue.ts'

/**
 * Divides limited resources (slots, body bytes) among callers, each in a separate pool. A caller gets more of a pool
 * only while it uses less than `factor` times the free amount. With factor 1 a single caller may use half, with 2 two
 * thirds. Some is always left for a caller that uses none.
 */
export class Capacity<Pool extends string> {
  readonly #amounts: Readonly<Record<Pool, number>>
  readonly #factor: 1 | 2
  readonly #taken = new Map<Pool, number>()
  /** By pool and holder. */
  readonly #held = new Map<string, number>()

  constructor(amounts: Readonly<Record<Pool, number>>, factor: 1 | 2) {
    this.#amounts = amounts
    this.#factor = factor
  }

  /** Returns false when there is not enough, or `holder` has its share. */
  take(pool: Pool, holder: string, count = 1): boolean {
    const key = `${pool} ${holder}`
    const held = this.#held.get(key) ?? 0
    const taken = this.taken(pool)
    const free = this.#amounts[pool] - taken
    if (count > free || held + count - 1 >= this.#factor * (free - count + 1)) return false
    this.#held.set(key, held + count)
    this.#taken.set(pool, taken + count)
    return true
  }

  /** Releases an amount taken before. */
  give(pool: Pool, holder: string, count = 1): void {
    const key = `${pool} ${holder}`
    const left = (this.#held.get(key) ?? 0) - count
    if (left > 0) this.#held.set(key, left)
    else this.#held.delete(key)
    this.#taken.set(pool, this.taken(pool) - count)
  }

  hasRoom(pool: Pool): boolean {
    return this.taken(pool) < this.#amounts[pool]
  }

  /** Amount of one pool in use by all callers. */
  taken(pool: Pool): number {
    return this.#taken.get(pool) ?? 0
  }

  /** Amount of all pools in use by all callers. */
  get takenOfAll(): number {
    return [...this.#taken.values()].reduce((sum, taken) => sum + taken, 0)
  }
}

export type ServerPool = 'handlers' | 'verifications' | 'published' | 'revocations' | 'resumed'

/** The slots of one process of a server. Each request uses one while it is checked and handled. */
export const SERVER_POOLS: Readonly<Record<ServerPool, number>> = {
  handlers: SERVER_LIMITS.inFlightRequests,
  /** Anyone may call verify routes and one call can be expensive, so they use no slots of other routes. */
  verifications: SERVER_LIMITS.verificationsInFlight,
  /** Published documents. Revocation lists are read while other calls wait, for example at a switch of the key. */
  published: SERVER_LIMITS.inFlightRequests,
  /** A revocation is served while other requests of the operator's address are open. */
  revocations: SERVER_LIMITS.revocationsInFlight,
  /** Calls that were held: many go on at once, and new calls must be served meanwhile. */
  resumed: SERVER_LIMITS.inFlightRequests / 4,
}

/**
 * Returns the pool of a route. Undefined for health routes, which are not counted: an overloaded instance must report
 * its state.
 */
export function poolOf({ limit, reserve }: Route): ServerPool | undefined {
  if (limit === 'verify') return 'verifications'
  if (limit === 'public') return 'published'
  if (reserve === 'revocation') return 'revocations'
  return limit === 'none' ? undefined : 'handlers'
}

const QUEUE_LIMITS = { atOnce: SERVER_LIMITS.queuedBodiesAtOnce, shortMs: 2, restFactor: 9, restMaxMs: 3000 }

/**
 * Queues requests whose body blocks the event loop for milliseconds to parse and verify. Each address has one at a
 * time, with a pause after a long one, so that it gets at most a tenth of the loop's time. Each kind of route has its
 * own queue, as it has its own body budget.
 */
export class LongWork {
  readonly #queues = new Map<BudgetName, FairQueue>()

  /** Returns undefined for a body that is parsed and verified in under a millisecond. */
  slotFor(route: Route, address: string, bodyBytes: number): QueueSlot | undefined {
    const from = route.limit === 'verify' ? SERVER_LIMITS.queuedVerificationBytes : SERVER_LIMITS.queuedBodyBytes
    if (bodyBytes < from) return undefined
    const budget = budgetOf(route)
    const queue = this.#queues.get(budget) ?? new FairQueue(QUEUE_LIMITS)
    this.#queues.set(budget, queue)
    return queue.take(address)
  }
}
