import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { EMPTY_STATE_VALUES, writeStateValues } from './state-values.ts'
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './schema.ts'
import { StateError } from './state-error.ts'

/** A reader of the state (a check, a backup) delays a writer at most this long. */
const BUSY_MS = 60_000

export interface OpenOptions {
  readonly file: string
  readonly isReadOnly: boolean
  readonly maxBytes: number
}

/** Opens existing state. verify-state.ts checks its content. */
export function openStateFile({ file, isReadOnly, maxBytes }: OpenOptions): DatabaseSync {
  const facts = statSync(file, { throwIfNoEntry: false })
  if (facts === undefined) throw new StateError('the state file does not exist; --init-state creates it once')
  if (!facts.isFile()) throw new StateError('the state file is not a regular file')
  if ((facts.mode & 0o022) !== 0) throw new StateError('others may write the state file')
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
    if (error instanceof StateError) throw error
    throw new StateError('the state is damaged or not a state of a gateway', { cause: error })
  }
}

function prepare(db: DatabaseSync, isReadOnly: boolean, maxBytes: number): void {
  if (pragma(db, 'application_id') !== APPLICATION_ID) throw new StateError('the file is not a state of a gateway')
  const version = pragma(db, 'user_version')
  if (version !== SCHEMA_VERSION) throw new StateError(`the state has schema version ${version}, not ${SCHEMA_VERSION}`)
  if (isReadOnly) return
  const pages = Math.floor(maxBytes / pragma(db, 'page_size'))
  // A rollback journal instead of a write-ahead log: all committed data is in the one file that is checked.
  db.exec(`pragma journal_mode = persist; pragma synchronous = extra; pragma max_page_count = ${pages}`)
}

export function pragma(db: DatabaseSync, name: string): number {
  const row = db.prepare(`pragma ${name}`).get() ?? {}
  return Number(Object.values(row)[0])
}

/** Runs `work` in a transaction: all of it is stored and synced, or none. */
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
 * Creates new state under a temporary name, fills it, syncs it, and then links it to its name. It never replaces a
 * file, and a failed run leaves nothing (protocol/gateway 18.3).
 */
export function createStateFile(file: string, fill: (db: DatabaseSync) => void): void {
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) throw new StateError('the state file exists already')
  const folder = dirname(file)
  if (statSync(folder, { throwIfNoEntry: false })?.isDirectory() !== true) {
    throw new StateError('the folder of the state file does not exist')
  }
  const temporaryFolder = `${file}.new-${process.pid}`
  mkdirSync(temporaryFolder, { mode: 0o700 })
  try {
    const draft = `${temporaryFolder}/state`
    closeSync(openSync(draft, 'wx', 0o600))
    const db = new DatabaseSync(draft)
    try {
      db.exec('pragma journal_mode = delete; pragma synchronous = extra')
      writeSchema(db)
      inTransaction(db, () => writeStateValues(db, EMPTY_STATE_VALUES))
      fill(db)
    } finally {
      db.close()
    }
    syncPath(draft)
    linkSync(draft, file)
    syncPath(folder)
  } finally {
    rmSync(temporaryFolder, { recursive: true, force: true })
  }
}

/** Writes the tables and the identification of a state into an empty file. */
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
