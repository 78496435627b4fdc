import { closeSync, fsyncSync, linkSync, mkdirSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { EMPTY_STATE_VALUES, StateError, readStateValues, writeStateValues } from './state-values.ts'
import { APPLICATION_ID, SCHEMA, SCHEMA_VERSION } from './verify-state.ts'
import { setTimeout as pause } from 'node:timers/promises'
import type { AuditRow } from './audit-log.ts'

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

/** Reads the state next to a running gateway, and writes nothing. */
export function readState<Value>(
  file: string,
  settings: { readonly stateMaxBytes: number },
  read: (db: DatabaseSync) => Value,
): Value {
  const db = openStateFile({ file, isReadOnly: true, maxBytes: settings.stateMaxBytes })
  try {
    return read(db)
  } finally {
    db.close()
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
function writeSchema(db: DatabaseSync): void {
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

/** The writer of a running gateway waits while a reader reads. A read lasts this long, then the writer continues. */
const BURST_MS = 200
const BREATH_MS = 120
/** Rows between two checks of the time. */
const ROWS_PER_READ = 200

/** Small, or changed in place: copied together at the end, so that all of it is consistent. */
const TABLES = ['checkpoints', 'withdrawn', 'equivocations', 'outbox'] as const

/**
 * Copies a state into an empty file while its gateway writes. The audit is by far the largest part and only grows at
 * its end. It is copied in short bursts, and the rest in one last consistent read. The platform's own copy starts again
 * at every change by another process, so it never ends next to a busy gateway.
 */
export async function copyState(source: DatabaseSync, target: DatabaseSync): Promise<void> {
  // Synced when it is complete. An incomplete copy is removed.
  target.exec('pragma journal_mode = off; pragma synchronous = off')
  writeSchema(target)
  const head = readStateValues(source).head_sequence
  let last = 0
  while (last < head) {
    const copied = inTransaction(target, () => copyAudit(source, target, last, BURST_MS))
    if (copied === last) break
    last = copied
    await pause(BREATH_MS)
  }
  copyRest(source, target, last)
}

/** Returns the sequence of the last copied event. */
function copyAudit(source: DatabaseSync, target: DatabaseSync, after: number, ms: number): number {
  const rows = source.prepare('select * from audit where sequence > ? order by sequence').iterate(after)
  const put = target.prepare('insert into audit (sequence, body, hash) values (?, ?, ?)')
  const endMs = performance.now() + ms
  let last = after
  let count = 0
  for (const row of rows) {
    const { sequence, body, hash } = row as unknown as AuditRow
    put.run(sequence, body, hash)
    last = sequence
    count += 1
    // Leaving the loop ends the read and releases the lock.
    if (count % ROWS_PER_READ === 0 && performance.now() >= endMs) break
  }
  return last
}

/** Copies newer events, the other tables and the sealed values in one consistent read. */
function copyRest(source: DatabaseSync, target: DatabaseSync, after: number): void {
  inTransaction(target, () => {
    source.exec('begin')
    try {
      const values = readStateValues(source)
      copyAudit(source, target, after, Infinity)
      for (const table of TABLES) copyTable(source, target, table)
      // Removes events that were pruned during the copy.
      target.prepare('delete from audit where sequence < ?').run(values.first_sequence)
      writeStateValues(target, values)
    } finally {
      source.exec('rollback')
    }
  })
}

function copyTable(source: DatabaseSync, target: DatabaseSync, table: (typeof TABLES)[number]): void {
  const read = source.prepare(`select * from ${table}`)
  let put: StatementSync | undefined
  for (const row of read.iterate()) {
    const names = Object.keys(row)
    put ??= target.prepare(`insert into ${table} (${names.join(', ')}) values (${names.map(() => '?').join(', ')})`)
    put.run(...Object.values(row))
  }
}
