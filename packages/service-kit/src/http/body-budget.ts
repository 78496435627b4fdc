import { type BudgetName, LIMITS, Refusal, SERVER_LIMITS } from '@chancery/contract'
import type { BodyBudget, OpenReading } from './body.ts'

/** How many body bytes one kind of route may have in memory. */
export interface BudgetLimits {
  readonly bytes: number
  /** Limit of one address. An IPv6 /64 counts as one. */
  readonly perAddressBytes: number
}

export interface BodyBudgetLimits {
  readonly budgets: Readonly<Record<BudgetName, BudgetLimits>>
  /** Requests with a body from one address, in each budget. */
  readonly bodiesPerAddress: number
  /** Every arriving body must deliver this many bytes in each interval. */
  readonly pace: { readonly intervalMs: number; readonly bytes: number }
}

/** Returns the limits of a process. Budgets grow with the largest allowed body. */
export function bodyBudgetLimits(maxRequestBytes: number): BodyBudgetLimits {
  const factor = Math.max(1, maxRequestBytes / LIMITS.requestBodyBytes)
  const scaled = ({ bytes, perAddressBytes }: BudgetLimits): BudgetLimits => ({
    bytes: bytes * factor,
    perAddressBytes: perAddressBytes * factor,
  })
  return {
    budgets: ofEach(SERVER_LIMITS.bodyBudgets, scaled),
    bodiesPerAddress: SERVER_LIMITS.bodiesPerAddress,
    pace: { intervalMs: SERVER_LIMITS.bodyIntervalSeconds * 1000, bytes: SERVER_LIMITS.bodyIntervalBytes },
  }
}

function ofEach<From, To>(budgets: Readonly<Record<BudgetName, From>>, map: (one: From) => To): Record<BudgetName, To> {
  const pairs = Object.entries(budgets).map(([name, one]) => [name, map(one)])
  // The names are unchanged; the compiler cannot derive it.
  return Object.fromEntries(pairs) as Record<BudgetName, To>
}

/**
 * Memory budgets for request bodies, one for each kind of route: bodies of unauthenticated callers cannot use up the
 * others.
 */
export class BodyBudgets {
  readonly #budgets: Readonly<Record<BudgetName, BodyBudgetState>>
  readonly #pace: BodyBudgetLimits['pace']
  #timer: NodeJS.Timeout | undefined

  constructor({ budgets, bodiesPerAddress, pace }: BodyBudgetLimits) {
    this.#budgets = ofEach(budgets, (limits) => new BodyBudgetState(limits, bodiesPerAddress))
    this.#pace = pace
  }

  /**
   * Opens a reservation for one request, until {@link BodyReservation.release}. Refuses an address with too many
   * requests.
   */
  open(name: BudgetName, address: string): BodyReservation {
    this.#timer ??= setInterval(() => this.#checkPace(), this.#pace.intervalMs).unref()
    return this.#budgets[name].open(address)
  }

  /** Reserved bytes in each budget. */
  get reserved(): Readonly<Record<BudgetName, number>> {
    return ofEach(this.#budgets, (budget) => budget.reserved)
  }

  #checkPace(): void {
    const budgets = Object.values(this.#budgets)
    for (const budget of budgets) budget.checkPace(this.#pace.bytes)
    if (budgets.some((budget) => !budget.isEmpty)) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** Use of one budget by one address. */
interface Owner {
  readonly address: string
  bytes: number
  bodies: number
}

class BodyBudgetState {
  readonly #limits: BudgetLimits
  readonly #bodiesPerAddress: number
  readonly #owners = new Map<string, Owner>()
  /** Last element of a linked list, because every request is added and removed. */
  #last: BodyReservation | undefined
  #reserved = 0

  constructor(limits: BudgetLimits, bodiesPerAddress: number) {
    this.#limits = limits
    this.#bodiesPerAddress = bodiesPerAddress
  }

  get reserved(): number {
    return this.#reserved
  }

  get isEmpty(): boolean {
    return this.#last === undefined
  }

  open(address: string): BodyReservation {
    const owner = this.#owners.get(address) ?? { address, bytes: 0, bodies: 0 }
    if (owner.bodies >= this.#bodiesPerAddress) throw new Refusal('service_unavailable', { reason: 'overloaded' })
    if (owner.bodies === 0) this.#owners.set(address, owner)
    owner.bodies += 1
    const reservation = new BodyReservation(this, owner, this.#last)
    if (this.#last !== undefined) this.#last.after = reservation
    this.#last = reservation
    return reservation
  }

  reserve(owner: Owner, count: number): boolean {
    if (owner.bytes + count > this.#limits.perAddressBytes) return false
    if (this.#reserved + count > this.#limits.bytes && !this.#freeBytes(owner, count)) return false
    owner.bytes += count
    this.#reserved += count
    return true
  }

  free(owner: Owner, count: number): void {
    owner.bytes -= count
    this.#reserved -= count
  }

  close(reservation: BodyReservation, owner: Owner): void {
    const { before, after } = reservation
    if (before !== undefined) before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    owner.bodies -= 1
    if (owner.bodies === 0) this.#owners.delete(owner.address)
  }

  checkPace(minBytes: number): void {
    for (let reservation = this.#last; reservation !== undefined; reservation = reservation.before)
      reservation.checkPace(minBytes)
  }

  /**
   * Cancels the largest body of the address with the most bytes, as long as that address has more than the requesting
   * one.
   */
  #freeBytes(requester: Owner, count: number): boolean {
    while (this.#reserved + count > this.#limits.bytes) {
      let largest: BodyReservation | undefined
      for (let reservation = this.#last; reservation !== undefined; reservation = reservation.before)
        if (reservation.isReading && (largest === undefined || isLarger(reservation, largest))) largest = reservation
      if (largest === undefined || largest.owner.bytes <= requester.bytes + count) return false
      largest.cut()
    }
    return true
  }
}

function isLarger(one: BodyReservation, other: BodyReservation): boolean {
  return one.owner === other.owner ? one.bytes > other.bytes : one.owner.bytes > other.owner.bytes
}

/** Bytes of one request body, from reading until the response is sent. */
export class BodyReservation implements BodyBudget {
  readonly owner: Owner
  readonly #budget: BodyBudgetState
  #bytes = 0
  #reading: OpenReading | undefined
  #isReleased = false
  /** Bytes at the last check. The first check only stores them, so that every body has a full interval. */
  #lastReceived = -1

  /** Neighbours in the linked list. */
  before: BodyReservation | undefined
  after: BodyReservation | undefined

  constructor(budget: BodyBudgetState, owner: Owner, before: BodyReservation | undefined) {
    this.before = before
    this.#budget = budget
    this.owner = owner
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Only a body that is still arriving can be cancelled for another. */
  get isReading(): boolean {
    return this.#reading !== undefined && this.#bytes > 0
  }

  watch(reading: OpenReading): void {
    this.#reading = reading
  }

  reserveBytes(count: number): boolean {
    if (this.#isReleased || !this.#budget.reserve(this.owner, count)) return false
    this.#bytes += count
    return true
  }

  /** The body has been read or refused. Its bytes stay counted until the response is sent. */
  releaseBytes(): void {
    this.#reading = undefined
  }

  /** Safe to call again. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#empty()
    this.#budget.close(this, this.owner)
  }

  /** Cancels the body for a caller that uses less. */
  cut(): void {
    this.#empty()
    this.#reading?.cut(new Refusal('service_unavailable', { reason: 'overloaded' }))
  }

  checkPace(minBytes: number): void {
    const reading = this.#reading
    if (reading === undefined) return
    const { received } = reading
    if (this.#lastReceived >= 0 && received - this.#lastReceived < minBytes) reading.cut(new Refusal('request_timeout'))
    this.#lastReceived = received
  }

  #empty(): void {
    this.#budget.free(this.owner, this.#bytes)
    this.#bytes = 0
  }
}
