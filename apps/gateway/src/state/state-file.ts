import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { EMPTY_LEDGER, writeLedger } from './ledger.ts'
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './schema.ts'
import { StateProblem } from './state-problem.ts'

/** A reader of the state (a check, a backup) holds a writer up for no longer than this. */
const BUSY_MS = 60_000

export interface OpenOptions {
  readonly file: string
  readonly isReadOnly: boolean
  readonly maxBytes: number
}

/** Opens existing state; whether its content is whole is for verify-state.ts to say. */
export function openStateFile({ file, isReadOnly, maxBytes }: OpenOptions): DatabaseSync {
  const facts = statSync(file, { throwIfNoEntry: false })
  if (facts === undefined) throw new StateProblem('the state file does not exist; --init-state creates it once')
  if (!facts.isFile()) throw new StateProblem('the state file is no regular file')
  if ((facts.mode & 0o022) !== 0) throw new StateProblem('others may write the state file')
  try {
    const db = new DatabaseSync(file, { readOnly: isReadOnly, timeout: BUSY_MS })
    try {
      prepare(db, isReadOnly, maxBytes)
      return db
    } catch (error) {
      db.close()
      throw error
    }
  } catch (error) {
    if (error instanceof StateProblem) throw error
    throw new StateProblem('the state is damaged or is no state of a gateway', { cause: error })
  }
}

function prepare(db: DatabaseSync, isReadOnly: boolean, maxBytes: number): void {
  if (pragma(db, 'application_id') !== APPLICATION_ID) throw new StateProblem('the file is no state of a gateway')
  const version = pragma(db, 'user_version')
  if (version !== SCHEMA_VERSION)
    throw new StateProblem(`the state has schema version ${version}, not ${SCHEMA_VERSION}`)
  if (isReadOnly) return
  const pages = Math.floor(maxBytes / pragma(db, 'page_size'))
  // A rollback journal and not a log beside the file: all that is committed stands in the one file that is checked.
  db.exec(`pragma journal_mode = persist; pragma synchronous = extra; pragma max_page_count = ${pages}`)
}

export function pragma(db: DatabaseSync, name: string): number {
  const row = db.prepare(`pragma ${name}`).get() ?? {}
  return Number(Object.values(row)[0])
}

/** Runs `work` so that all of it is kept and synced, or none. */
export function inTransaction<Value>(db: DatabaseSync, work: () => Value, beforeCommit?: () => void): Value {
  db.exec('begin immediate')
  try {
    const value = work()
    beforeCommit?.()
    db.exec('commit')
    return value
  } catch (error) {
    if (db.isTransaction) db.exec('rollback')
    throw error
  }
}

/**
 * Makes new state under a temporary name, fills it, syncs it, and only then gives it its name, without ever replacing a
 * file: a run that fails leaves nothing behind (protocol/gateway 18.3).
 */
export function createStateFile(file: string, fill: (db: DatabaseSync) => void): void {
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) throw new StateProblem('the state file exists already')
  const folder = dirname(file)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new StateProblem('the folder of the state file does not exist')
  }
  const workshop = `${file}.new-${process.pid}`
  mkdirSync(workshop, { mode: 0o700 })
  try {
    const draft = `${workshop}/state`
    closeSync(openSync(draft, 'wx', 0o600))
    const db = new DatabaseSync(draft)
    try {
      db.exec('pragma journal_mode = delete; pragma synchronous = extra')
      writeSchema(db)
      inTransaction(db, () => writeLedger(db, EMPTY_LEDGER))
      fill(db)
    } finally {
      db.close()
    }
    syncPath(draft)
    linkSync(draft, file)
    syncPath(folder)
  } finally {
    rmSync(workshop, { recursive: true, force: true })
  }
}

/** The tables of a state in an empty file, and what says that it is one. */
export function writeSchema(db: DatabaseSync): void {
  db.exec(`pragma application_id = ${APPLICATION_ID}; pragma user_version = ${SCHEMA_VERSION}; ${SCHEMA}`)
}

export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}
