import { setTimeout as pause } from 'node:timers/promises'
import { Refusal } from '@chancery/contract'
import type { Log } from '@chancery/service-kit'
import type { Database } from '../database.ts'
import type { Versions } from '../locks/versions.ts'
import { sql } from 'kysely'

/** A row that the primary committed. A server that has it has everything that was committed before it. */
export interface ReplicaProof {
  readonly name: string
  readonly at: string
}

const FORM = sql.lit('YYYY-MM-DD"T"HH24:MI:SS.US"Z"')

/**
 * Writes the row of this timeline with a later time than any before, also of other instances. A failover begins another
 * timeline: a replica that follows the former primary never gets the row of the new one. The row has the key of the
 * authority: a replica of another network, whose rows may be later, has none of that name.
 */
export async function writeProof(primary: Pick<Database, 'write'>): Promise<ReplicaProof> {
  const { rows } = await primary.write(({ query }) =>
    sql<ReplicaProof>`
      insert into moments (name, at)
      values (
        'replica-proof ' || substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8) || ' '
          || (select public_key from authority_identity),
        to_char(clock_timestamp() at time zone 'UTC', ${FORM})
      )
      on conflict (name) do update set at = greatest(
        excluded.at,
        to_char((moments.at::timestamptz + interval '1 microsecond') at time zone 'UTC', ${FORM})
      )
      returning name, at`.execute(query),
  )
  const [proof] = rows
  if (proof === undefined) throw new Error('the primary returned no row')
  return proof
}

/** True when the server has the row and still follows a primary: one that was promoted has its own history. */
export async function hasProof(replica: Pick<Database, 'read'>, { name, at }: ReplicaProof): Promise<boolean> {
  const { rows } = await sql<{
    readonly at: string
  }>`select at from moments where name = ${name} and pg_is_in_recovery()`.execute(replica.read)
  return (rows[0]?.at ?? '') >= at
}

/** Answers searches and public material, which may be late by a bounded time. */
export interface Reads {
  /** Gives `work` the database to read. It may run a second time on the primary, so it must only read. */
  run<Result>(work: (database: Database) => Promise<Result>): Promise<Result>
  /** A change was answered: the replica is used again when it has the change. */
  noteChange(): void
  /** Called with each read of the versions from the primary. */
  see(versions: Versions): Versions
  close(): Promise<void>
}

/** Without a replica the primary answers everything. */
export function readsOfPrimary(primary: Database): Reads {
  return {
    run: (work) => work(primary),
    noteChange: () => undefined,
    see: (versions) => versions,
    close: () => Promise.resolve(),
  }
}

export type AnsweredBy = 'replica' | 'primary'

export interface ReplicaReadsParts {
  readonly primary: Database
  readonly replica: Database
  /** The current versions, read from the primary. They are passed to `see`, too. */
  readonly readVersions: () => Promise<unknown>
  readonly maxLagMs: number
  readonly count: (answeredBy: AnsweredBy) => void
  readonly log: Log
  readonly nowMs?: () => number
}

/** How long the replica may take to get a proof: without waiting callers, and with them. */
const [FOLLOW_MS, HOLD_MS] = [1000, 250]
const POLL_MS = 10
const RETRY_MS = 200

/**
 * Reads from a replica while it is proven to have everything that the primary had committed at most `maxLagMs` ago. Two
 * rules are stricter than that time:
 *
 * - The versions are read from the primary in each request. After a change of a list, treaty, policy or key the primary
 *   answers until the replica is proven to have it.
 * - Answers of this process never go back. After an answer of the primary the replica is used again when it has at least
 *   that state: callers wait for a moment, until no answer of the primary is under way and the replica has a new proof.
 */
export class ReplicaReads implements Reads {
  readonly #parts: ReplicaReadsParts
  readonly #nowMs: () => number
  readonly #seen = new Map<string, number>()
  #provenMs = Number.NEGATIVE_INFINITY
  /** The primary answered since the last proof was written. */
  #isBehind = true
  #underWay = 0
  #proof: Promise<void> | undefined
  #triedMs = Number.NEGATIVE_INFINITY
  #hold: Promise<void> | undefined
  #isUsed: boolean | undefined

  constructor(parts: ReplicaReadsParts) {
    this.#parts = parts
    this.#nowMs = parts.nowMs ?? (() => performance.now())
    // Another server may be primary now.
    parts.primary.onConnectionLost(() => this.noteChange())
  }

  async run<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    await this.#parts.readVersions()
    if (this.#hold !== undefined) await Promise.race([this.#hold, pause(HOLD_MS, undefined, { ref: false })])
    const ageMs = this.#nowMs() - this.#provenMs
    if (ageMs > this.#parts.maxLagMs / 2) this.#startProof()
    return ageMs > this.#parts.maxLagMs ? this.#askPrimary(work) : this.#askReplica(work)
  }

  noteChange(): void {
    this.#provenMs = Number.NEGATIVE_INFINITY
    this.#isBehind = true
  }

  see(versions: Versions): Versions {
    for (const [name, version] of versions.versions) {
      if (this.#seen.get(name) === version) continue
      this.#seen.set(name, version)
      this.noteChange()
    }
    return versions
  }

  async close(): Promise<void> {
    await this.#proof
    await this.#parts.replica.close()
  }

  async #askPrimary<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    this.#underWay += 1
    this.#isBehind = true
    try {
      const answer = await work(this.#parts.primary)
      this.#parts.count('primary')
      return answer
    } finally {
      this.#underWay -= 1
      this.#isBehind = true
    }
  }

  /** The replica refuses nothing: what it lacks may be on the primary. */
  async #askReplica<Result>(work: (database: Database) => Promise<Result>): Promise<Result> {
    try {
      const answer = await work(this.#parts.replica)
      this.#parts.count('replica')
      return answer
    } catch (error) {
      if (!(error instanceof Refusal)) {
        this.noteChange()
        this.#report(false, { error })
      }
    }
    const answer = await this.#askPrimary(work)
    // The primary has what the replica lacked.
    this.noteChange()
    return answer
  }

  #startProof(): void {
    if (this.#proof !== undefined || this.#nowMs() - this.#triedMs < RETRY_MS) return
    this.#proof = this.#prove()
      .then((isProven) => isProven !== undefined && this.#report(isProven))
      .catch((error: unknown) => this.#report(false, { error }))
      .then(() => {
        this.#proof = undefined
        this.#triedMs = this.#nowMs()
      })
  }

  /** Returns undefined when the primary answered meanwhile: the next attempt decides. */
  async #prove(): Promise<boolean | undefined> {
    const atMs = await this.#follow(Math.min(FOLLOW_MS, this.#parts.maxLagMs))
    if (atMs === undefined) return false
    if (!this.#isBehind) {
      this.#provenMs = atMs
      return true
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#hold = promise
    try {
      return await this.#proveWhileHeld()
    } finally {
      this.#hold = undefined
      resolve()
    }
  }

  async #proveWhileHeld(): Promise<boolean | undefined> {
    const endMs = this.#nowMs() + HOLD_MS
    while (this.#underWay > 0) {
      if (this.#nowMs() > endMs) return undefined
      await pause(1)
    }
    this.#isBehind = false
    const atMs = await this.#follow(endMs - this.#nowMs())
    if (atMs === undefined) return false
    if (this.#isBehind) return undefined
    this.#provenMs = atMs
    return true
  }

  /** Writes a proof on the primary and waits for it on the replica. Returns the time before it was written. */
  async #follow(withinMs: number): Promise<number | undefined> {
    const { primary, replica } = this.#parts
    const atMs = this.#nowMs()
    const proof = await writeProof(primary)
    const endMs = this.#nowMs() + withinMs
    while (!(await hasProof(replica, proof))) {
      if (this.#nowMs() > endMs) return undefined
      await pause(POLL_MS)
    }
    return atMs
  }

  #report(isUsed: boolean, error: { readonly error?: unknown } = {}): void {
    if (this.#isUsed === isUsed) return
    this.#isUsed = isUsed
    const { log, replica } = this.#parts
    if (isUsed) log.info('reads from the replica', { replica: replica.location })
    else log.warn('the replica is late or away: the primary answers', { replica: replica.location, ...error })
  }
}
