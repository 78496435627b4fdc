import type { AuditEventType } from '@chancery/contract'
import { DAY, type Instant, type JsonObject, writeInstant } from '@chancery/protocol'
import type { Clock, Limiter } from '@chancery/service-kit'

/** Rows of one event type, by all workers of an instance in a minute: enough to detect an attack. */
const PER_MINUTE = 600
/** Of these one address, or one known key. So one caller leaves room for the others. */
const SHARE_PER_MINUTE = 60
/** Rows of one event type, by one process in a day: unauthenticated callers never end, and rows do not end by themselves. */
const PER_DAY = 20_000
const SHARE_PER_DAY = 2000

/** Who was refused: an address, or a caller behind a trusted gateway, that proved nothing, or a key that did, such as one whose proof is replayed. */
export interface RefusedCaller {
  readonly kind: 'address' | 'key'
  readonly name: string
}

interface ShareParts {
  readonly clock: Pick<Clock, 'now'>
  readonly limits: Pick<Limiter, 'hit'>
}

/**
 * Decides which refusals get a row. Addresses and known keys have separate room, so that no flood of bad proofs hides
 * the replay of a good one. What gets no row is counted, for one row about the day.
 */
export class RefusalShares {
  readonly #parts: ShareParts
  #day: Instant
  #rows = new Map<string, number>()
  #left = new Map<AuditEventType, number>()
  readonly #ended: JsonObject[] = []

  constructor(parts: ShareParts) {
    this.#parts = parts
    this.#day = this.#today()
  }

  /** Whether the refusal gets a row. Throws when it cannot be counted. */
  async take(type: AuditEventType, { kind, name }: RefusedCaller): Promise<boolean> {
    this.#turnDay()
    const room = `refused-audit ${kind} ${type}`
    const share = `${room} ${name}`
    if ((this.#rows.get(share) ?? 0) >= SHARE_PER_DAY || (this.#rows.get(room) ?? 0) >= PER_DAY) return false
    const { limits } = this.#parts
    // The share first: what is over it takes nothing from the others.
    if (!(await limits.hit(share, SHARE_PER_MINUTE)) || !(await limits.hit(room, PER_MINUTE))) return false
    for (const each of [share, room]) this.#rows.set(each, (this.#rows.get(each) ?? 0) + 1)
    return true
  }

  /** Counts a refusal without a row. */
  leaveOut(type: AuditEventType): void {
    this.#turnDay()
    this.#left.set(type, (this.#left.get(type) ?? 0) + 1)
  }

  /** Summaries of days that ended; of the current day, too, when the process stops. Who has stored one removes it. */
  endedDays(isLast = false): JsonObject[] {
    this.#turnDay()
    if (isLast) this.#endDay()
    return this.#ended
  }

  #turnDay(): void {
    const today = this.#today()
    if (today === this.#day) return
    this.#endDay()
    this.#day = today
    this.#rows = new Map()
  }

  #endDay(): void {
    if (this.#left.size === 0) return
    this.#ended.push({ day: writeInstant(this.#day).slice(0, 10), counts: Object.fromEntries(this.#left) })
    this.#left = new Map()
  }

  #today(): Instant {
    const now = this.#parts.clock.now()
    return now - (now % DAY)
  }
}
