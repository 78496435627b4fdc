import type { StatementSync } from 'node:sqlite'
import type { Kysely } from 'kysely'
import type { Tables } from './tables.ts'

/** A connection or a transaction: queries are written once for both. */
export type Tx = Kysely<Tables>

/** The authority's database, with what its engines do differently behind one interface. */
export interface Database {
  readonly engine: 'sqlite' | 'postgres'
  /** Where the data is, without secrets: the SQLite path, or the URL rebuilt from user, host, port and name. */
  readonly location: string
  readonly read: Tx
  /**
   * Runs `work` in one transaction. Serialisation failures and deadlocks are tried again from the start (at most
   * three times), so `work` must have no effect outside the database.
   */
  write<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  /**
   * The same for work that is done all the time with the same few statements: on connections that keep their plans
   * (see kept-plan.ts), which must be right for values of any kind.
   */
  transactOften<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  /** Takes the head row of a domain for the rest of the transaction. Ranks are in heads.ts. */
  lockDomain(tx: Tx, name: string): Promise<void>
  /** Version stamps and what is due, by one statement. */
  readVersions(): Promise<Versions>
  /** The engine's own words, for the few hot statements that need them; see heartbeats.ts and joins.ts. */
  readonly native: Engine
  /**
   * Spends claims, each at most once over all instances and restarts. Gives for each row whether it was fresh; of
   * equal claims in one batch the first wins. Committed when it returns.
   */
  claimNonces(rows: readonly NonceClaim[]): Promise<readonly boolean[]>
  /** Adds hits to limiter windows and gives the new totals, in the order of the rows. */
  countHits(rows: readonly WindowHits[]): Promise<readonly number[]>
  /** Calls back each time a connection breaks: whoever answers next may be another server. */
  onConnectionLost(listener: () => void): void
  /**
   * Throws unless a row could be committed lately, DiskFull when there is no room for more. At most one row every ten
   * seconds, however many ask; at once after a connection was lost.
   */
  checkWritable(): Promise<void>
  close(): Promise<void>
}

/** What every request may ask cheaply: has anything changed, is anything due? */
export interface Versions {
  readonly versions: ReadonlyMap<string, number>
  /** When the next superseded certificate is due for the revocation list. */
  readonly nextListing: string | null
}

export type Engine = PostgresEngine | SqliteEngine

export interface PostgresEngine {
  readonly kind: 'postgres'
  /** Runs a named prepared statement in its own transaction; committed when it returns. */
  readonly run: RunStatement
  /** Several named statements in one transaction. */
  transact<Result>(work: (run: RunStatement) => Promise<Result>): Promise<Result>
}

export type RunStatement = <Row extends object>(
  name: string,
  text: string,
  values: readonly unknown[],
) => Promise<readonly Row[]>

export interface SqliteEngine {
  readonly kind: 'sqlite'
  /** Runs statements inside one write transaction; `work` is synchronous and cannot be interleaved. */
  write<Result>(work: (prepare: (text: string) => StatementSync) => Result): Promise<Result>
}

export interface NonceClaim {
  /** Digest of scope and nonce: fixed width however long they are. */
  readonly claim: Uint8Array
  readonly expires_at: string
}

export interface WindowHits {
  readonly bucket: string
  readonly windowStart: number
  readonly hits: number
}

/** The database could not answer. Nothing is known to have happened; callers refuse. */
export class DatabaseUnavailableError extends Error {
  override readonly name: string = 'DatabaseUnavailableError'
}

/** There is no room for more; what is stored can still be read. */
export class DiskFull extends DatabaseUnavailableError {
  override readonly name = 'DiskFull'
}

/** A lock was not had in time: somebody else is changing the same thing. */
export class LockTimeoutError extends Error {
  override readonly name = 'LockTimeoutError'
}

/** The connection died during COMMIT: the change may or may not be there. Never guessed (reliability). */
export class UnknownOutcomeError extends Error {
  override readonly name = 'UnknownOutcomeError'
}
