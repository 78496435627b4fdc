import { writeSortable } from '@chancery/protocol'
import { BatchClosedError, BatchFullError, Batcher, endOfLoopTurn } from '@chancery/service-kit'
import type { ClaimNewest, Clock, Log } from '@chancery/service-kit'
import type { Database } from '../../database/database.ts'
import { type CheckedRow, type GatheredRow, checkHeartbeats, storeHeartbeats } from './queries/gathered-heartbeats.ts'
import type { HeartbeatOutcome } from './queries/heartbeats.ts'

/** Rows of one statement. */
const MAX_ROWS = 1000
/** The wait before rows are stored: with the statement itself they are stored within a second. */
const STORE_AFTER_MS = 500
/** While the oldest row waits for longer, no heartbeat is acknowledged before it is stored. */
const MAX_LAG_MS = 1000
const MAX_UNSTORED = 100_000
const CHECKS = { maxItems: 500, maxWaiting: 5000, delay: endOfLoopTurn }
const LAST_TRIES = 5

export interface GatheredParts {
  readonly database: Pick<Database, 'run'>
  readonly clock: Clock
  readonly log: Pick<Log, 'warn' | 'error'>
  /** Claims the signed time of a certificate for all workers of the service, before they can read it in the database. */
  readonly claimNewest: ClaimNewest | undefined
  /** Called after each statement that stores rows; undefined when it failed. */
  readonly onStored?: (rows: number | undefined) => void
}

interface Unstored {
  readonly row: GatheredRow
  readonly sinceMs: number
}

/**
 * Heartbeats of a large fleet. Each is checked against the database before its answer, and acknowledged before it is
 * stored: liveness is written once a second, for many certificates in one statement. A signed time that is not newer
 * than that of the last heartbeat of the certificate is a replay.
 */
export class GatheredHeartbeats {
  readonly #parts: GatheredParts
  readonly #checks: Batcher<CheckedRow, HeartbeatOutcome>
  /** Newest signed time of the heartbeats that are being checked, by certificate and key. */
  readonly #checking = new Map<string, { newest: number; calls: number }>()
  /** Acknowledged, by certificate. Rows of `storing` are in the statement that runs. */
  #unstored = new Map<string, Unstored>()
  #storing: ReadonlyMap<string, Unstored> = new Map()
  #timer: NodeJS.Timeout | undefined
  #running: Promise<void> | undefined
  #isClosed = false

  constructor(parts: GatheredParts) {
    this.#parts = parts
    this.#checks = new Batcher<CheckedRow, HeartbeatOutcome>(
      async (rows) => [...(await checkHeartbeats(parts.database, rows, parts.clock.now()))],
      CHECKS,
    )
  }

  /** Number of acknowledged rows that are not stored. */
  get unstored(): number {
    return this.#unstored.size + this.#storing.size
  }

  /** Age in milliseconds of the oldest row that is not stored. */
  get lagMs(): number {
    const oldest = this.#storing.values().next().value ?? this.#unstored.values().next().value
    return oldest === undefined ? 0 : this.#parts.clock.monotonicMs() - oldest.sinceMs
  }

  async add(row: Omit<GatheredRow, 'last_heartbeat'>): Promise<HeartbeatOutcome> {
    if (this.#isClosed) throw new BatchClosedError('closed')
    if (this.unstored >= MAX_UNSTORED) throw new BatchFullError(`${MAX_UNSTORED} heartbeats are not stored`)
    const key = `${row.cert_id} ${row.node_public_key}`
    // Before the database is read: of two equal calls the later one finds the mark of the earlier one here until the
    // row is stored, and in the database from then on.
    const isReplay = this.#isKnown(key, row)
    const checking = this.#checking.get(key) ?? { newest: row.signed_at, calls: 0 }
    checking.newest = Math.max(checking.newest, row.signed_at)
    checking.calls += 1
    this.#checking.set(key, checking)
    try {
      const outcome = await this.#checks.add(row)
      if (!outcome.recorded) return outcome
      const { clock, claimNewest } = this.#parts
      const isTaken = isReplay || (await claimNewest?.(row.cert_id, row.signed_at)) === false
      const last_heartbeat = writeSortable(clock.now())
      if (isTaken) return { recorded: false, certificate: usableOf(row), judgedAt: last_heartbeat }
      this.#keep({ ...row, last_heartbeat })
      while (this.lagMs > MAX_LAG_MS && this.#isUnstored(row.cert_id)) await this.#store()
      return outcome
    } finally {
      checking.calls -= 1
      if (checking.calls === 0) this.#checking.delete(key)
    }
  }

  /** Stores everything that was acknowledged. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#checks.close()
    for (let tries = 1; this.unstored > 0; tries += 1)
      try {
        await this.#store()
      } catch (error) {
        if (tries < LAST_TRIES) continue
        this.#parts.log.error('heartbeats not stored at the stop', { count: this.unstored, error })
        break
      }
    clearTimeout(this.#timer)
  }

  #isKnown(key: string, { cert_id, signed_at }: CheckedRow): boolean {
    const marks = [
      this.#checking.get(key)?.newest,
      this.#unstored.get(cert_id)?.row.signed_at,
      this.#storing.get(cert_id)?.row.signed_at,
    ]
    return marks.some((mark) => mark !== undefined && mark >= signed_at)
  }

  /** Only the newest row of a certificate is stored. */
  #keep(row: GatheredRow): void {
    const former = this.#unstored.get(row.cert_id)
    if (former !== undefined && former.row.signed_at >= row.signed_at) return
    // A replaced row keeps its place, so the first row is always the oldest.
    this.#unstored.set(row.cert_id, { row, sinceMs: former?.sinceMs ?? this.#parts.clock.monotonicMs() })
    if (this.#running !== undefined) return
    if (this.#unstored.size >= MAX_ROWS) this.#storeUnattended()
    else this.#storeLater()
  }

  #isUnstored(cert_id: string): boolean {
    return this.#unstored.has(cert_id) || this.#storing.has(cert_id)
  }

  #storeLater(): void {
    this.#timer ??= setTimeout(() => this.#storeUnattended(), STORE_AFTER_MS)
  }

  /** A failure is logged and counted where it happens, and the rows are stored with the next ones. */
  #storeUnattended(): void {
    this.#store().catch(() => undefined)
  }

  /** Stores all rows of this moment; callers during a run share it. */
  #store(): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#running ??= this.#storeAll().finally(() => {
      this.#running = undefined
      if (this.#unstored.size > 0) this.#storeLater()
    })
    return this.#running
  }

  async #storeAll(): Promise<void> {
    do {
      const rows = [...this.#unstored].slice(0, MAX_ROWS)
      this.#storing = new Map(rows)
      for (const [cert_id] of rows) this.#unstored.delete(cert_id)
      try {
        await storeHeartbeats(
          this.#parts.database,
          rows.map(([, { row }]) => row),
          this.#parts.clock.now(),
        )
        this.#parts.onStored?.(rows.length)
      } catch (error) {
        this.#takeBack()
        this.#parts.onStored?.(undefined)
        this.#parts.log.warn('heartbeats not stored, they are stored again', { count: rows.length, error })
        throw error
      } finally {
        this.#storing = new Map()
      }
    } while (this.#unstored.size >= MAX_ROWS)
  }

  /** Rows that could not be stored are stored with the next ones, unless there are newer ones. */
  #takeBack(): void {
    const newer = this.#unstored
    this.#unstored = new Map(this.#storing)
    for (const [cert_id, { row, sinceMs }] of newer)
      this.#unstored.set(cert_id, { row, sinceMs: this.#unstored.get(cert_id)?.sinceMs ?? sinceMs })
  }
}

/** The certificate was found usable: what is refused is the replay. */
function usableOf({ node_public_key }: CheckedRow): Extract<HeartbeatOutcome, { recorded: false }>['certificate'] {
  return { node_public_key, status: 'issued', issued_at: '', expires_at: '~', revoke_after: null, compromised: false }
}
