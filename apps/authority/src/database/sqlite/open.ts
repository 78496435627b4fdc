import { accessSync, closeSync, constants, openSync } from 'node:fs'
import { DatabaseSync, type DatabaseSyncOptions, type SQLInputValue, type StatementSync, backup } from 'node:sqlite'
import { pathToFileURL } from 'node:url'
import { Kysely, type SqliteDatabase, SqliteDialect, sql } from 'kysely'
import { DatabaseUnavailableError, DiskFullError } from '../errors.ts'
import type { Database, Prepare, Query, Statement, Transaction } from '../database.ts'
import type { Tables } from '../tables.ts'
import { type TransactOptions, checkFreeSpace, commitProbe, transactOn, undoneProbe } from '../transaction.ts'
import { tracedStatement } from '../tracing.ts'
import { WriteProbe } from '../probe-write.ts'
import { DiskRoom } from '../room/disk-room.ts'
import { makeRoomToOpen, sqliteReserve } from '../room/sqlite-reserve.ts'
import { LoopTurns } from './loop-turns.ts'

const SQLITE_ERROR = 1
const SQLITE_BUSY = 5
/** About five seconds of pauses. */
const BUSY_ATTEMPTS = 80
const SQLITE_CONSTRAINT = 19
/** Full; and the input or output errors that a full disk gives where a file is grown ahead of its use. */
const FULL_CODES: ReadonlySet<number> = new Set([10, 13])

// The locks of SQLite belong to the process, and the kernel drops all of them when the process closes any descriptor of
// the file. Another program could then delete the write-ahead log with commits in it. So only SQLite opens a file that
// may be in use: whether it is there is asked by name, and only a file that is new is created here.

/** Opens one SQLite file: WAL, full synchronisation, one connection, writers begin by taking the write lock. */
export function openSqlite(path: string): Database {
  createMissing(path)
  return openShared(path)
}

/** The same of a file that is there; throws DatabaseUnavailableError where there is none. */
export function openExistingSqlite(path: string): Database {
  try {
    accessSync(path, constants.R_OK)
  } catch (error) {
    throw new DatabaseUnavailableError('the SQLite file cannot be read', { cause: error })
  }
  return openShared(path)
}

/** Roster, addresses and members are for the owner of the file only. Never opens a file that is there. */
function createMissing(path: string): void {
  try {
    closeSync(openSync(path, 'wx', 0o600))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

function openShared(path: string): Database {
  makeRoomToOpen(path)
  return openFile(path, 'pragma journal_mode=wal; pragma synchronous=full')
}

/**
 * Opens an existing file for this process alone. Throws DatabaseUnavailableError while another process has the file open.
 * No other process can open the file until it is closed.
 */
export function openSqliteExclusive(path: string): Database {
  accessSync(path, constants.R_OK)
  // The first transaction in this mode takes the lock and keeps it.
  return openFile(path, 'pragma locking_mode=exclusive; begin immediate; commit')
}

/** A file that is only read, such as a backup; it may lie where nothing can be written. */
export function openSqliteReadOnly(path: string): Database {
  return openFile(path, '', true)
}

/**
 * A file that is not valid until it is complete, so it may be lost in a crash. The caller that closes it syncs it. No
 * side files are left.
 */
export function openSqliteUnsynced(path: string): Database {
  createMissing(path)
  return openFile(path, 'pragma journal_mode=delete; pragma synchronous=off')
}

const PAGES_AT_ONCE = 2000

/**
 * Copies a file that others write to. The read transaction keeps one state for all of it: without it every commit of
 * another process would make the copy begin again.
 */
export async function copySqliteFile(
  path: string,
  to: string,
  onPages: (done: number, total: number) => void,
): Promise<void> {
  const source = new DatabaseSync(path, { readOnly: true, timeout: 5000 })
  try {
    closeSync(openSync(to, 'wx', 0o600))
    source.exec('begin; select count(*) from sqlite_master')
    await backup(source, to, {
      rate: PAGES_AT_ONCE,
      progress: ({ totalPages, remainingPages }) => onPages(totalPages - remainingPages, totalPages),
    })
  } finally {
    source.close()
  }
}

/** SQLite would create a file that is missing, with the rights of the umask. */
function openExisting(path: string, options: DatabaseSyncOptions): DatabaseSync {
  const url = pathToFileURL(path)
  url.searchParams.set('mode', options.readOnly === true ? 'ro' : 'rw')
  try {
    return new DatabaseSync(url, options)
  } catch (error) {
    throw translateSqliteError(error) ?? error
  }
}

function openFile(path: string, first: string, readOnly = false): Database {
  // Hardly any waiting inside the driver, where it would freeze the process: retrying waits, with timers.
  const file = openExisting(path, { timeout: 20, enableForeignKeyConstraints: true, readOnly })
  try {
    file.exec(first)
  } catch (error) {
    file.close()
    throw translateSqliteError(error) ?? error
  }
  const turns = new LoopTurns()
  const dialect = new SqliteDialect({ database: toKysely(file) })
  const query: Query = new Kysely<Tables>({ dialect, plugins: [turns.plugin()] })
  const prepare = cachedStatements(file)
  const options: TransactOptions = {
    isRetryable: isBusy,
    isRefusedCommit: () => true,
    begin: sql`begin`,
    attempts: BUSY_ATTEMPTS,
    open: () => openTransaction(prepare, turns),
  }
  const probe = new WriteProbe({
    commit: () => commitProbe((work) => transactOn(query, work, options)),
    writeUndone: () => undoneProbe(query, options),
    grow: () => checkFreeSpace(path),
    isFull,
  })
  const room = new DiskRoom(sqliteReserve(path, isFull))
  const write: Database['write'] = (work, { room: kind = 'service' } = {}) =>
    room.run(kind, () => transactOn(query, work, options)).catch(probe.refused)

  return {
    engine: 'sqlite',
    location: path,
    read: query,
    write,
    room,
    run: (statement, input, given) =>
      statement.isRead === true
        ? // On the only connection, which is busy while a transaction is open.
          query.connection().execute(async () => statement.sqlite(prepare, input))
        : write((tx) => tx.run(statement, input), given),
    // A file has no connection that could break.
    onConnectionLost: () => undefined,
    confirmServer: () => undefined,
    async checkWritable() {
      room.requireService()
      await probe.check()
    },
    async close() {
      await query.destroy()
    },
  }
}

function openTransaction(prepare: Prepare, turns: LoopTurns): Pick<Transaction, 'run' | 'lock'> {
  return {
    run: async <Input, Row>(statement: Statement<Input, Row>, input: Input) => {
      await turns.wait()
      return statement.sqlite(prepare, input)
    },
    // BEGIN IMMEDIATE has the only write lock of the file.
    lock: async () => undefined,
  }
}

/** Caches prepared statements: preparing costs more than running, and there are few texts. */
function cachedStatements(file: DatabaseSync): Prepare {
  const known = new Map<string, StatementSync>()
  return (text) => {
    let statement = known.get(text)
    if (statement === undefined) {
      statement = tracedStatement(file.prepare(text), text)
      known.set(text, statement)
    }
    return statement
  }
}

/** Adapts node:sqlite to the query builder. */
function toKysely(file: DatabaseSync): SqliteDatabase {
  const statements = cachedStatements(file)
  return {
    close: () => file.close(),
    prepare(text: string) {
      // Deferred transactions that read and then write fail under a second process; take the write lock at once.
      const statement = text === 'begin' ? statements('begin immediate') : statements(text)
      const reader = statement.columns().length > 0
      return {
        reader,
        all: (parameters) => statement.all(...(parameters as SQLInputValue[])),
        run: (parameters) => {
          const { changes, lastInsertRowid } = statement.run(...(parameters as SQLInputValue[]))
          return { changes, lastInsertRowid }
        },
        iterate: (parameters) => statement.iterate(...(parameters as SQLInputValue[])),
      }
    },
  }
}

function errorCode(error: unknown): number | undefined {
  return error instanceof Error && 'errcode' in error ? Number(error.errcode) & 0xff : undefined
}

function isFull(error: unknown): boolean {
  return error instanceof DiskFullError || FULL_CODES.has(errorCode(error) ?? 0)
}

function isBusy(error: unknown): boolean {
  return errorCode(error) === SQLITE_BUSY
}

/** Returns the failure as an error of database.ts, undefined when it is a bug. */
export function translateSqliteError(error: unknown): Error | undefined {
  const code = errorCode(error)
  if (code === undefined || code === SQLITE_CONSTRAINT) return undefined
  // A generic error is a bug in a statement, unless the schema is not the one this release knows.
  if (code === SQLITE_ERROR && !/^no such (?:table|column)/.test((error as Error).message)) return undefined
  return new DatabaseUnavailableError('SQLite is unavailable', { cause: error })
}
