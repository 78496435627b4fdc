import { Capacity, type Clock } from '@chancery/service-kit'

/** Concurrent checks: of tokens in general, and of addresses that failed too often. */
const AT_ONCE = 64
const SLOWED_AT_ONCE = 4
/** Checks per second for all addresses that failed too often: about a fifth of a core, whatever they send. */
const SLOWED_PER_SECOND = 1000
/** Checks that may start together after a pause. */
const BURST = 50
/** Queued checks. One address may have two thirds, which is more than this gateway has connections. */
const WAITING = 4096
const WAKE_MS = 5

/** What a token claims before its signature is verified: the client it would act as, if any. */
export interface Claimant {
  readonly address: string
  readonly client: string
  /** Returns true after the caller has disconnected. Such a check is skipped and uses no slot. */
  readonly isGone: () => boolean
}

/**
 * Schedules the signature checks of tokens (protocol/gateway 5.3). Failures never stop the checks, because a caller
 * with a valid new token may use the same address. Failures slow the checks down, so that invalid tokens cost little.
 * Queued checks are served round robin: by address first, then by the client that the token claims. So forged tokens
 * that name one client delay no other client, and delay that client only by the number of connections that wait with
 * it.
 */
export class SignatureChecks {
  readonly #quick: CheckQueue
  readonly #slowed: CheckQueue

  constructor(clock: Pick<Clock, 'monotonicMs'>) {
    this.#quick = new CheckQueue({ atOnce: AT_ONCE, perSecond: Number.POSITIVE_INFINITY }, clock)
    this.#slowed = new CheckQueue({ atOnce: SLOWED_AT_ONCE, perSecond: SLOWED_PER_SECOND }, clock)
  }

  /**
   * Runs `check` when its slot is free. Returns undefined, without running it, when too many checks of the address are
   * queued or the caller is gone.
   */
  run<Result>(
    claimant: Claimant,
    isSlowed: boolean,
    check: () => Promise<Result>,
  ): Promise<Result | undefined> | undefined {
    return (isSlowed ? this.#slowed : this.#quick).run(claimant, check)
  }
}

interface QueueLimits {
  readonly atOnce: number
  readonly perSecond: number
}

interface QueuedCheck {
  readonly isGone: () => boolean
  /** False skips the check. */
  readonly decide: (isTurn: boolean) => void
}

class CheckQueue {
  readonly #limits: QueueLimits
  readonly #clock: Pick<Clock, 'monotonicMs'>
  readonly #places = new Capacity({ waiting: WAITING }, 2)
  /** Queued checks by address and claimed client. The first entry of each map is next. */
  readonly #waiting = new Map<string, Map<string, QueuedCheck[]>>()
  #underWay = 0
  #allowance = BURST
  #countedAt: number
  #isWaking = false

  constructor(limits: QueueLimits, clock: Pick<Clock, 'monotonicMs'>) {
    this.#limits = limits
    this.#clock = clock
    this.#countedAt = clock.monotonicMs()
  }

  run<Result>(
    { address, client, isGone }: Claimant,
    check: () => Promise<Result>,
  ): Promise<Result | undefined> | undefined {
    if (!this.#places.take('waiting', address)) return undefined
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const clients = this.#waiting.get(address) ?? new Map<string, QueuedCheck[]>()
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
        this.#places.give('waiting', address)
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

  /** Returns the next check. Its address, and its client within the address, move to the end. */
  #next(): QueuedCheck | undefined {
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
