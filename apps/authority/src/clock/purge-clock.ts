import { DAY, type Instant, readInstant, seconds } from '@chancery/protocol'
import type { Clock, Job } from '@chancery/service-kit'
import { type Database, type Reader, storeTime } from '../database/database.ts'

/** A wall clock that moved further than this against the monotonic one was set, not corrected (reliability 8). */
export const MAX_CLOCK_JUMP = seconds(5)

function monotonicInstant(clock: Clock): Instant {
  return BigInt(Math.round(clock.monotonicMs() * 1000))
}

/** Wall clock minus monotonic clock. Only a jump changes it. */
export function wallMinusMonotonic(clock: Clock): Instant {
  return clock.now() - monotonicInstant(clock)
}

export function magnitude(value: Instant): Instant {
  return value < 0n ? -value : value
}

/** Offset until the clock is accepted. Larger than the age of any row. */
const UNACCEPTED_OFFSET = 366n * DAY
/** Leaves room for callers that subtract hours. */
const EARLIEST = 10n * DAY

/**
 * The time by which rows may be purged. With a wall clock that is ahead, spent nonces and deletes would be purged too
 * early, and could be replayed after the clock is corrected. So a clock is accepted only after it has run without a
 * jump ahead for longer than the purged rows could be replayed, also at the start of a process. Until then the
 * monotonic clock gives the time. The database clock is not used, because the database may run on the same machine. A
 * jump back is accepted immediately, because it only delays purges. Jobs call it often.
 */
export class PurgeClock implements Pick<Clock, 'now'> {
  readonly #clock: Clock
  readonly acceptedAfterMs: number
  /** Accepted difference of wall clock and monotonic clock. */
  #base: Instant
  #ahead: { readonly base: Instant; readonly sinceMs: number } | undefined

  constructor(clock: Clock, acceptedAfterMs: number) {
    this.#clock = clock
    this.acceptedAfterMs = acceptedAfterMs
    const base = wallMinusMonotonic(clock)
    this.#base = base - UNACCEPTED_OFFSET
    this.#ahead = { base, sinceMs: clock.monotonicMs() }
  }

  now(): Instant {
    this.#check()
    const now = this.#base + monotonicInstant(this.#clock)
    return now > EARLIEST ? now : EARLIEST
  }

  /** Uses the accepted time that another process of this database stored. Never ahead of the clock. */
  continueFrom(purgeClock: Instant): void {
    const base = purgeClock - monotonicInstant(this.#clock)
    if (base <= this.#base) return
    const wall = wallMinusMonotonic(this.#clock)
    this.#base = base < wall ? base : wall
  }

  #check(): void {
    const [base, ms] = [wallMinusMonotonic(this.#clock), this.#clock.monotonicMs()]
    const ahead = this.#ahead
    if (base - this.#base <= MAX_CLOCK_JUMP) this.#accept(base)
    else if (ahead === undefined || magnitude(base - ahead.base) > MAX_CLOCK_JUMP) this.#ahead = { base, sinceMs: ms }
    else if (ms - ahead.sinceMs >= this.acceptedAfterMs) this.#accept(base)
  }

  #accept(base: Instant): void {
    this.#base = base
    this.#ahead = undefined
  }
}

/** Signed requests are accepted within five minutes of their time (protocol/core 5.1, 11.3). */
export const NONCE_DELAY_MS = 3_600_000
/** Agent descriptors and responses for an idempotency key are valid for a day (protocol/core 13.2, 11.5). */
export const DAILY_DELAY_MS = 25 * 3_600_000

/**
 * Skips a job while the clock offset is too large. The clock may have been wrong from the start, so nothing is removed.
 */
export function whenClockIsCorrect(clockCheck: { isHalted(): boolean }, run: Job['run']): Job['run'] {
  return (signal) => (clockCheck.isHalted() ? Promise.resolve() : run(signal))
}

interface Parts {
  readonly database: Pick<Database, 'read' | 'write'>
  readonly clock: Clock
  readonly purgeClock: { readonly nonces: PurgeClock; readonly daily: PurgeClock }
}

/**
 * Stores the accepted time, so that it continues after a restart. Otherwise a process that runs for less than a day
 * would never accept its clock, and nothing would be purged. The stored time is never later than the time of storing,
 * and downtime does not count, so a clock that jumped in the meantime is not accepted.
 */
export async function storePurgeClocks(parts: Parts): Promise<void> {
  const { database } = parts
  for (const [name, purgeClock] of Object.entries(parts.purgeClock)) {
    const stored = await findTime(database.read, `settled ${name}`)
    if (stored !== undefined) purgeClock.continueFrom(stored)
    const watched = await acceptFrom(parts, name, purgeClock)
    if (watched !== undefined) purgeClock.continueFrom(watched)
    const now = purgeClock.now()
    if (stored === undefined || now > stored) await write(database, `settled ${name}`, now)
  }
}

/** The last observation of this process. It adds only the time in which no other process observed. */
const lastSeen = new WeakMap<PurgeClock, { readonly until: Instant; readonly ms: number }>()

/**
 * The time that a clock showed at the first observation, plus the time that processes have run since, one at a time.
 * When they have run for as long as a single process would have to, the clock is accepted: real time is never less.
 */
async function acceptFrom(
  { database, clock }: Parts,
  name: string,
  purgeClock: PurgeClock,
): Promise<Instant | undefined> {
  const [wall, ms] = [clock.now(), clock.monotonicMs()]
  const [from, until] = [
    await findTime(database.read, `watched ${name} from`),
    await findTime(database.read, `watched ${name} until`),
  ]
  const seen = lastSeen.get(purgeClock)
  // Set back since: earlier observations do not apply to this clock.
  if (from === undefined || until === undefined || wall < until) {
    await write(database, `watched ${name} from`, wall)
    await write(database, `watched ${name} until`, wall)
    lastSeen.set(purgeClock, { until: wall, ms })
    return undefined
  }
  const ran = seen?.until === until ? BigInt(Math.floor((ms - seen.ms) * 1000)) : 0n
  const reached = until + ran < wall ? until + ran : wall
  if (reached > until) await write(database, `watched ${name} until`, reached)
  lastSeen.set(purgeClock, { until: reached, ms })
  return reached - from >= BigInt(purgeClock.acceptedAfterMs) * 1000n ? reached : undefined
}

function write(database: Pick<Database, 'write'>, name: string, when: Instant): Promise<void> {
  return database.write((tx) => storeTime(tx, name, when))
}

async function findTime(db: Reader, name: string): Promise<Instant | undefined> {
  const row = await db.selectFrom('moments').select('at').where('name', '=', name).executeTakeFirst()
  return row === undefined ? undefined : readInstant(row.at)
}
