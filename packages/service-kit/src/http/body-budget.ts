import { LIMITS, Refusal, SERVER_LIMITS } from '@chancery/contract'
import type { BudgetName } from '@chancery/contract'
import type { BodyBudget, OpenReading } from './body.ts'

/** How many bytes of bodies one kind of route holds at once. */
export interface BudgetLimits {
  readonly bytes: number
  /** Of one address, an IPv6 /64 counting as one. */
  readonly perAddressBytes: number
}

export interface BodyBudgetLimits {
  readonly rooms: Readonly<Record<BudgetName, BudgetLimits>>
  /** Requests of one address with a body, in each room. */
  readonly bodiesPerAddress: number
  /** Every body on its way must bring so many bytes in each interval. */
  readonly pace: { readonly intervalMs: number; readonly bytes: number }
}

/** The limits of a process; rooms grow with the largest body that is allowed. */
export function bodyBudgetLimits(maxRequestBytes: number): BodyBudgetLimits {
  const factor = Math.max(1, maxRequestBytes / LIMITS.requestBodyBytes)
  const scaled = ({ bytes, perAddressBytes }: BudgetLimits): BudgetLimits => ({
    bytes: bytes * factor,
    perAddressBytes: perAddressBytes * factor,
  })
  return {
    rooms: ofEach(SERVER_LIMITS.bodyBudgets, scaled),
    bodiesPerAddress: SERVER_LIMITS.bodiesPerAddress,
    pace: { intervalMs: SERVER_LIMITS.bodyIntervalSeconds * 1000, bytes: SERVER_LIMITS.bodyIntervalBytes },
  }
}

function ofEach<From, To>(rooms: Readonly<Record<BudgetName, From>>, map: (one: From) => To): Record<BudgetName, To> {
  const pairs = Object.entries(rooms).map(([name, one]) => [name, map(one)])
  // The same names, which the compiler cannot follow.
  return Object.fromEntries(pairs) as Record<BudgetName, To>
}

/** Room for bodies, apart for each kind of route: bodies of unauthenticated callers take no room of the others. */
export class BodyBudgets {
  readonly #rooms: Readonly<Record<BudgetName, BodyBudgetState>>
  readonly #pace: BodyBudgetLimits['pace']
  #timer: NodeJS.Timeout | undefined

  constructor({ rooms, bodiesPerAddress, pace }: BodyBudgetLimits) {
    this.#rooms = ofEach(rooms, (limits) => new BodyBudgetState(limits, bodiesPerAddress))
    this.#pace = pace
  }

  /** For one request, until {@link BodyReservation.release}. Refuses an address that has its share of requests here. */
  open(name: BudgetName, address: string): BodyReservation {
    this.#timer ??= setInterval(() => this.#checkPace(), this.#pace.intervalMs).unref()
    return this.#rooms[name].open(address)
  }

  /** Bytes held now in each room. */
  get held(): Readonly<Record<BudgetName, number>> {
    return ofEach(this.#rooms, (room) => room.held)
  }

  #checkPace(): void {
    const rooms = Object.values(this.#rooms)
    for (const room of rooms) room.checkPace(this.#pace.bytes)
    if (rooms.some((room) => !room.isEmpty)) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }
}

/** All that one address holds in one room. */
interface Owner {
  readonly address: string
  bytes: number
  holds: number
}

class BodyBudgetState {
  readonly #limits: BudgetLimits
  readonly #bodiesPerAddress: number
  readonly #owners = new Map<string, Owner>()
  /** The last opened of a list that links each hold with the one before: every request is put in and taken out. */
  #last: BodyReservation | undefined
  #held = 0

  constructor(limits: BudgetLimits, bodiesPerAddress: number) {
    this.#limits = limits
    this.#bodiesPerAddress = bodiesPerAddress
  }

  get held(): number {
    return this.#held
  }

  get isEmpty(): boolean {
    return this.#last === undefined
  }

  open(address: string): BodyReservation {
    const owner = this.#owners.get(address) ?? { address, bytes: 0, holds: 0 }
    if (owner.holds >= this.#bodiesPerAddress) throw new Refusal('service_unavailable', { reason: 'overloaded' })
    if (owner.holds === 0) this.#owners.set(address, owner)
    owner.holds += 1
    const hold = new BodyReservation(this, owner, this.#last)
    if (this.#last !== undefined) this.#last.after = hold
    this.#last = hold
    return hold
  }

  take(owner: Owner, count: number): boolean {
    if (owner.bytes + count > this.#limits.perAddressBytes) return false
    if (this.#held + count > this.#limits.bytes && !this.#makeRoom(owner, count)) return false
    owner.bytes += count
    this.#held += count
    return true
  }

  give(owner: Owner, count: number): void {
    owner.bytes -= count
    this.#held -= count
  }

  close(hold: BodyReservation, owner: Owner): void {
    const { before, after } = hold
    if (before !== undefined) before.after = after
    if (after === undefined) this.#last = before
    else after.before = before
    owner.holds -= 1
    if (owner.holds === 0) this.#owners.delete(owner.address)
  }

  checkPace(minBytes: number): void {
    for (let hold = this.#last; hold !== undefined; hold = hold.before) hold.checkPace(minBytes)
  }

  /** The address that holds most loses its largest body, as long as that leaves it no worse off than who asks. */
  #makeRoom(asking: Owner, count: number): boolean {
    while (this.#held + count > this.#limits.bytes) {
      let largest: BodyReservation | undefined
      for (let hold = this.#last; hold !== undefined; hold = hold.before)
        if (hold.isReading && (largest === undefined || weighs(hold, largest))) largest = hold
      if (largest === undefined || largest.owner.bytes <= asking.bytes + count) return false
      largest.cut()
    }
    return true
  }
}

function weighs(one: BodyReservation, other: BodyReservation): boolean {
  return one.owner === other.owner ? one.bytes > other.bytes : one.owner.bytes > other.owner.bytes
}

/** What the body of one request holds: while it is read, and then until the request is answered. */
export class BodyReservation implements BodyBudget {
  readonly owner: Owner
  readonly #room: BodyBudgetState
  #bytes = 0
  #reading: OpenReading | undefined
  #isReleased = false
  /** Bytes at the last look; the first look only notes them, so that every body has a whole interval. */
  #seen = -1

  /** Its neighbours in the list of the room. */
  before: BodyReservation | undefined
  after: BodyReservation | undefined

  constructor(room: BodyBudgetState, owner: Owner, before: BodyReservation | undefined) {
    this.before = before
    this.#room = room
    this.owner = owner
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Only a body that is still on its way can be given up for another. */
  get isReading(): boolean {
    return this.#reading !== undefined && this.#bytes > 0
  }

  watch(reading: OpenReading): void {
    this.#reading = reading
  }

  reserveBytes(count: number): boolean {
    if (this.#isReleased || !this.#room.take(this.owner, count)) return false
    this.#bytes += count
    return true
  }

  /** The body has been read or refused; its bytes stay counted until the request is answered. */
  releaseBytes(): void {
    this.#reading = undefined
  }

  /** Safe to call again. */
  release(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    this.#empty()
    this.#room.close(this, this.owner)
  }

  /** Gives the body up for a caller who holds less. */
  cut(): void {
    this.#empty()
    this.#reading?.cut(new Refusal('service_unavailable', { reason: 'overloaded' }))
  }

  checkPace(minBytes: number): void {
    const reading = this.#reading
    if (reading === undefined) return
    const { received } = reading
    if (this.#seen >= 0 && received - this.#seen < minBytes) reading.cut(new Refusal('request_timeout'))
    this.#seen = received
  }

  #empty(): void {
    this.#room.give(this.owner, this.#bytes)
    this.#bytes = 0
  }
}
