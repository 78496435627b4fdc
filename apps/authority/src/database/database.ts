import type { StatementSync } from 'node:sqlite'
import { type ColumnDataType, type Kysely, sql } from 'kysely'
import type { Domain } from './locks/domains.ts'
import type { DiskRoom, WriteKind } from './room/disk-room.ts'
import type { Tables } from './tables.ts'
import pg from 'pg'
import { DAY, type Instant, writeSortable } from '@chancery/protocol'

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

export async function countRows(db: Reader, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** SQLite's extended codes for a primary key and for another unique index. */
const SQLITE_CODES: readonly unknown[] = [1555, 2067]

/** True when a unique key refused a row: of two writers, the other one was first. */
export function isUniqueViolation(error: unknown): boolean {
  if (error instanceof pg.DatabaseError) return error.code === '23505'
  return error instanceof Error && 'errcode' in error && SQLITE_CODES.includes(error.errcode)
}

/** The stored text differs from the signed text. Nothing of it may be committed or returned. */
export class StoredDifferentlyError extends Error {
  override readonly name = 'StoredDifferentlyError'
}

/** Compares a stored record with the text that was signed, before COMMIT: a trigger or a lossy column would show here. */
export function assertStored(written: string, returned: string | undefined): void {
  if (written !== returned) throw storedDifferently()
}

export function storedDifferently(): StoredDifferentlyError {
  return new StoredDifferentlyError('the database changed a signed record')
}

/** Column types the engines spell differently. */
export interface ColumnTypes {
  readonly backend: Database['engine']
  readonly binary: ColumnDataType
  readonly bigint: ColumnDataType
}

export interface Migration {
  readonly version: number
  /**
   * The oldest schema version whose release may go on serving when this one was applied; its own when left out. A
   * migration that only adds (tables, nullable columns, indexes) names the release before; what a release needs no more
   * is removed by the one after it.
   */
  readonly servesFrom?: number
  up(tx: Query, types: ColumnTypes): Promise<void>
}

/** Stores when something last happened. */
export async function storeTime(tx: Pick<Transaction, 'query'>, name: string, when: Instant): Promise<void> {
  const at = writeSortable(when)
  await tx.query
    .insertInto('moments')
    .values({ name, at })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ at }))
    .execute()
}

/** Returns the time of the last backup that a command recorded. */
export async function findStoredBackup(db: Reader): Promise<string | undefined> {
  return (await db.selectFrom('moments').select('at').where('name', '=', 'backup').executeTakeFirst())?.at
}

/** Returns the stored time of the last backup, or when the database was created. */
export async function findLastBackup(db: Reader): Promise<string | undefined> {
  const noted = await findStoredBackup(db)
  if (noted !== undefined) return noted
  return (await db.selectFrom('authority_identity').select('created_at').executeTakeFirst())?.created_at
}

/** A treaty that a partner reports as active. */
export interface ReportedTreaty {
  readonly reported_by: string
  readonly treaty_id: string
  readonly subject_sovereign_id: string
  /** As signed. */
  readonly valid_from: string
  readonly expires_at: string
  /** When the partner last listed it. */
  readonly as_of: string
  readonly last_good_pull_at: string
  readonly interval_seconds: number
}

/**
 * Reported treaties whose window holds now, of partners with a good pull in the last 24 hours. The caller leaves out those of
 * partners without an own treaty in force.
 */
export async function listReportedTreaties(db: Reader, now: Instant): Promise<readonly ReportedTreaty[]> {
  const rows = await db
    .selectFrom('reported_treaties as t')
    .innerJoin('partners as p', 'p.sovereign_id', 't.sovereign_id')
    .select([
      't.sovereign_id as reported_by',
      't.treaty_id',
      't.subject_sovereign_id',
      't.valid_from',
      't.expires_at',
      'p.treaties_as_of as as_of',
      'p.last_good_pull_at',
      'p.interval_seconds',
    ])
    .where('t.hidden', '=', 0)
    .where('t.ends_at', '>', writeSortable(now))
    .where('t.starts_at', '<=', writeSortable(now))
    .where('p.last_good_pull_at', '>=', writeSortable(now - DAY))
    .orderBy('t.sovereign_id')
    .orderBy('t.treaty_id')
    .execute()
  return rows.map((row) => ({ ...row, as_of: row.as_of ?? '', last_good_pull_at: row.last_good_pull_at ?? '' }))
}
