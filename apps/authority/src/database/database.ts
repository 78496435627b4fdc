import type { StatementSync } from 'node:sqlite'
import type { Kysely } from 'kysely'
import type { Domain } from './locks/domains.ts'
import type { DiskRoom, WriteKind } from './room/disk-room.ts'
import type { Tables } from './tables.ts'

/** Queries that are written once for both engines. */
export type Query = Kysely<Tables>

/** Reads rows: it has no insert, update or delete. Raw SQL sent to a Reader must be a SELECT. */
export type Reader = Pick<Query, 'selectFrom' | 'selectNoFrom' | 'fn' | 'dynamic' | 'getExecutor'>

export type Prepare = (text: string) => StatementSync

/** A statement with one text per engine, for frequent batches. Results are the same on both. */
export interface Statement<Input, Row> {
  /** PostgreSQL prepares the statement once per connection under this name, so its text is constant. */
  readonly name: string
  /** True when it changes no rows: SQLite then takes no write lock. */
  readonly isRead?: true
  readonly postgres: { readonly text: string; readonly values: (input: Input) => readonly unknown[] }
  /** Synchronous, so no other statement runs in between. */
  readonly sqlite: (prepare: Prepare, input: Input) => readonly Row[]
}

export interface Transaction {
  readonly query: Query
  run<Input, Row>(statement: Statement<Input, Row>, input: Input): Promise<readonly Row[]>
  /** Locks the row of a domain until the transaction ends. Domains are locked in the order of DOMAINS. */
  lock(domain: Domain): Promise<void>
  /** Counts a change of the domain, in the transaction of the change, so no reader sees one without the other. */
  raiseVersion(domain: Domain): Promise<void>
}

/** What the write is for, which decides whether a full disk still takes it; `service` when left out. */
export interface RoomOption {
  readonly room?: WriteKind
}

export interface WriteOptions extends RoomOption {
  /** Runs on connections that cache plans, for the same few statements. Each plan must fit values of any kind. */
  readonly cachedPlans?: true
  /**
   * PostgreSQL only: statements of `run` that are started together are sent together, the first ones with BEGIN. So one
   * round trip may lock and read everything. The first statements must only lock and read: they are sent before BEGIN
   * is known to have succeeded. Needs `cachedPlans`.
   */
  readonly pipelined?: true
  /** No statement timeout: for host commands that read whole tables. */
  readonly unlimited?: true
}

/** The authority's database. */
export interface Database {
  readonly engine: 'sqlite' | 'postgres'
  /** The SQLite path, or the URL rebuilt from user, host, port and name. It has no secrets. */
  readonly location: string
  readonly read: Reader
  /**
   * Runs `work` in one transaction: the only way to change rows. Serialisation failures and deadlocks are tried again
   * from the start (at most three times), so `work` must have no effect outside the database. A COMMIT without a
   * response is resolved, or reported as UnknownOutcomeError.
   */
  write<Result>(work: (tx: Transaction) => Promise<Result>, options?: WriteOptions): Promise<Result>
  /** Runs one statement in its own transaction, in one round trip. It is committed when this returns. */
  run<Input, Row>(statement: Statement<Input, Row>, input: Input, options?: RoomOption): Promise<readonly Row[]>
  /** The room on its disk, and who may still use it. */
  readonly room: DiskRoom
  /** Calls `listener` each time a connection breaks: the next response may come from another server. */
  onConnectionLost(listener: () => void): void
  /**
   * The server that answers was compared. After the first call, a server that replaces it behind a pooler begins no
   * transaction that may write until it is confirmed, too. Without a pooler a lost connection shows the replacement.
   */
  confirmServer(): void
  /**
   * Throws unless a row could be committed recently, DiskFullError when the disk is full. Writes at most one row every ten
   * seconds for any number of callers, and at once after a connection was lost.
   */
  checkWritable(): Promise<void>
  /** Connections of this process. Undefined for SQLite, which has one. */
  readonly connections?: () => Connections
  close(): Promise<void>
}

/** Of all pools of one process together. */
export interface Connections {
  readonly most: number
  readonly open: number
  readonly idle: number
  /** Callers that wait for one. */
  readonly waiting: number
}
