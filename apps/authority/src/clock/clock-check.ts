import { type Instant, seconds } from '@chancery/protocol'
import { type Clock, type Gauge, type Log, SharedRead } from '@chancery/service-kit'
import { sql } from 'kysely'
import { MAX_CLOCK_JUMP, magnitude, wallMinusMonotonic } from './purge-clock.ts'
import type { Database } from '../database/database.ts'
import type { SigningHalt } from '../signing/halt-reasons.ts'

const WARN_OVER = seconds(2)
const HALT_OVER = seconds(30)

export interface ClockCheckParts {
  readonly database: Database
  readonly clock: Clock
  readonly log: Log
  /** Seconds this clock is ahead of the database clock. */
  readonly offset: Gauge
  /** NA_CLOCK_CHECK. */
  readonly enabled: boolean
}

/**
 * Compares this machine's clock with the database clock, which all instances share (reliability 8). Nothing is signed
 * if the offset is over 30 s, or after the wall clock jumped against the monotonic one until the next comparison.
 * SQLite has no separate clock, so nothing is compared.
 */
export class ClockCheck implements SigningHalt {
  readonly reason = 'clock_offset'
  readonly #parts: ClockCheckParts
  readonly #isComparing: boolean
  readonly #checks: SharedRead<void>
  #isOff = false
  #isChecking = false
  /** Wall clock minus monotonic clock at the last comparison. Only a jump changes it. */
  #base: Instant

  constructor(parts: ClockCheckParts) {
    this.#parts = parts
    this.#isComparing = parts.enabled && parts.database.engine === 'postgres'
    this.#base = wallMinusMonotonic(parts.clock)
    this.#checks = new SharedRead(() => this.#compare())
    if (!parts.enabled) parts.log.warn('clock is not compared with the database clock', { setting: 'NA_CLOCK_CHECK' })
  }

  isHalted(): boolean {
    if (!this.#isComparing) return false
    if (magnitude(wallMinusMonotonic(this.#parts.clock) - this.#base) <= MAX_CLOCK_JUMP) return this.#isOff
    // Compares again directly. Until then it is unknown which of the two clocks is right.
    this.#checkSoon()
    return true
  }

  /** Compares now. Rejects when the database cannot be read; a halt then stays as it was. */
  async check(): Promise<void> {
    if (this.#isComparing) await this.#checks.read()
  }

  async #compare(): Promise<void> {
    const { database, clock, offset } = this.#parts
    const [before, base] = [clock.now(), wallMinusMonotonic(clock)]
    const server = await readServerClock(database)
    const after = clock.now()
    // The server read its clock between the two readings, so only the difference outside them is a certain offset.
    const ahead = server < before ? before - server : server > after ? after - server : 0n
    this.#base = base
    offset.set(Number(ahead) / 1_000_000)
    this.#evaluate(ahead)
  }

  #evaluate(ahead: Instant): void {
    const { log } = this.#parts
    const wasOff = this.#isOff
    const fields = { ahead_ms: Number(ahead / 1000n) }
    this.#isOff = magnitude(ahead) > HALT_OVER
    if (this.#isOff && !wasOff) log.error('signing stopped: clock offset too large', { alarm: true, ...fields })
    else if (!this.#isOff && wasOff) log.info('clock offset within limit, signing resumed', fields)
    else if (magnitude(ahead) > WARN_OVER) log.warn('clock differs from the database clock', fields)
  }

  #checkSoon(): void {
    if (this.#isChecking) return
    this.#isChecking = true
    this.check()
      .catch((error: unknown) => this.#parts.log.warn('cannot compare the clock', { error }))
      .finally(() => {
        this.#isChecking = false
      })
  }
}

/** Reads the clock that all instances share. */
export async function readServerClock(database: Database): Promise<Instant> {
  const { rows } = await sql<{
    micros: number
  }>`select (extract(epoch from clock_timestamp()) * 1000000)::bigint as micros`.execute(database.read)
  const micros = rows[0]?.micros
  if (micros === undefined) throw new Error('the database returned no time')
  return BigInt(micros)
}
