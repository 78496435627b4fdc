import { Shares } from '@chancery/service-kit'
import type { Clock } from '@chancery/service-kit'

/** Checks under way at once: of tokens nobody has failed with, and of an address that failed too often. */
const AT_ONCE = 64
const SLOWED_AT_ONCE = 4
/** Of all addresses that failed too often together: about a fifth of a core, whatever they send. */
const SLOWED_PER_SECOND = 1000
/** So many of them begin together after a pause. */
const BURST = 50
/** That wait: one address alone may have two thirds, more than this gateway has connections. */
const WAITING = 4096
const WAKE_MS = 5

/** What a token claims before anybody knows who wrote it: the client it would act as, where there is one. */
export interface Claimant {
  readonly address: string
  readonly client: string
  /** True once nobody waits for the verdict: such a check is left out when its turn comes, and costs nobody a turn. */
  readonly isGone: () => boolean
}

/**
 * Turns for checks of the signatures of tokens (protocol/gateway 5.3). Failures never stop the checks: a caller with a
 * good new token may be behind the same address. They slow them down, so that what strangers send costs little. Who
 * waits is served in turns: addresses first, then the clients that their tokens claim to be. So forged tokens in the
 * name of one client hold up nobody else, and that client only by as many checks as connections wait with it.
 */
export class SignatureChecks {
  readonly #quick: Lane
  readonly #slowed: Lane

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#quick = new Lane({ atOnce: AT_ONCE, perSecond: Number.POSITIVE_INFINITY }, clock)
    this.#slowed = new Lane({ atOnce: SLOWED_AT_ONCE, perSecond: SLOWED_PER_SECOND }, clock)
  }

  /**
   * Runs `check` when its turn has come. Undefined, and nothing is run, when too many of the address wait or the caller
   * has gone meanwhile.
   */
  take<Result>(
    claimant: Claimant,
    isSlowed: boolean,
    check: () => Promise<Result>,
  ): Promise<Result | undefined> | undefined {
    return (isSlowed ? this.#slowed : this.#quick).take(claimant, check)
  }
}

interface LaneLimits {
  readonly atOnce: number
  readonly perSecond: number
}

interface Waiting {
  readonly isGone: () => boolean
  /** False leaves it out. */
  readonly decide: (isTurn: boolean) => void
}

class Lane {
  readonly #limits: LaneLimits
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #places = new Shares(WAITING, 2)
  /** What waits, by address and claimed client. The first of each map has the next turn. */
  readonly #waiting = new Map<string, Map<string, Waiting[]>>()
  #underWay = 0
  #allowance = BURST
  #countedAt: number
  #isWaking = false

  constructor(limits: LaneLimits, clock: Pick<Clock, 'monotonicMs'>) {
    this.#limits = limits
    this.#clock = clock
    this.#countedAt = clock.monotonicMs()
  }

  take<Result>(
    { address, client, isGone }: Claimant,
    check: () => Promise<Result>,
  ): Promise<Result | undefined> | undefined {
    if (!this.#places.take(address)) return undefined
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const clients = this.#waiting.get(address) ?? new Map<string, Waiting[]>()
    const line = clients.get(client) ?? []
    line.push({ isGone, decide: resolve })
    clients.set(client, line)
    this.#waiting.set(address, clients)
    this.#begin()
    return promise.then(async (isTurn) => {
      try {
        return isTurn ? await check() : undefined
      } finally {
        if (isTurn) this.#underWay -= 1
        this.#places.give(address)
        this.#begin()
      }
    })
  }

  #begin(): void {
    while (this.#waiting.size > 0 && this.#underWay < this.#limits.atOnce) {
      if (!this.#hasAllowance()) return this.#wake()
      const next = this.#next()
      if (next === undefined) return
      const isTurn = !next.isGone()
      if (isTurn) {
        this.#underWay += 1
        this.#allowance -= 1
      }
      next.decide(isTurn)
    }
  }

  /** Whoever had the turn stands last, with its address and within it. */
  #next(): Waiting | undefined {
    const [first] = this.#waiting
    if (first === undefined) return undefined
    const [address, clients] = first
    const [own] = clients
    this.#waiting.delete(address)
    if (own === undefined) return undefined
    const [client, line] = own
    clients.delete(client)
    const next = line.shift()
    if (line.length > 0) clients.set(client, line)
    if (clients.size > 0) this.#waiting.set(address, clients)
    return next
  }

  #hasAllowance(): boolean {
    const { perSecond } = this.#limits
    if (perSecond === Number.POSITIVE_INFINITY) return true
    const now = this.#clock.monotonicMs()
    this.#allowance = Math.min(BURST, this.#allowance + ((now - this.#countedAt) * perSecond) / 1000)
    this.#countedAt = now
    return this.#allowance >= 1
  }

  #wake(): void {
    if (this.#isWaking) return
    this.#isWaking = true
    setTimeout(() => {
      this.#isWaking = false
      this.#begin()
    }, WAKE_MS)
  }
}
