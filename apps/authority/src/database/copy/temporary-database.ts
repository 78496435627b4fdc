import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ids } from '@chancery/service-kit'
import { sql } from 'kysely'
import type { Database, Tx } from '../database.ts'
import { sqlState } from '../postgres/client.ts'
import { openDatabase } from '../open.ts'
import type { DatabaseLocation } from '../open.ts'

/** A place for a database that is gone again afterwards. */
export interface TemporaryDatabase {
  readonly place: DatabaseLocation
  drop(): Promise<void>
}

/** The role of the settings may not create a database. */
export class TemporaryDatabaseError extends Error {
  override readonly name = 'TemporaryDatabaseError'
}

const PREFIX = 'chancery_rehearsal_'
const INSUFFICIENT_PRIVILEGE = '42501'

/** Of the same kind as the given place: a file below the folder for temporary files, or a database on the same server. */
export async function createTemporaryDatabase(like: DatabaseLocation, ids: Ids): Promise<TemporaryDatabase> {
  if (like.kind === 'sqlite') {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-rehearsal-'))
    const place: DatabaseLocation = { kind: 'sqlite', path: join(folder, 'rehearsal.db') }
    return { place, drop: () => rm(folder, { recursive: true, force: true }) }
  }
  const name = `${PREFIX}${ids.hex(16)}`
  const url = new URL(like.url)
  url.pathname = `/${name}`
  await onServer(like, (db) => sql`create database ${sql.ref(name)}`.execute(db))
  return {
    place: { kind: 'postgres', url: url.href },
    drop: () => onServer(like, (db) => sql`drop database if exists ${sql.ref(name)} with (force)`.execute(db)),
  }
}

async function onServer(place: DatabaseLocation, work: (db: Tx) => Promise<unknown>): Promise<void> {
  const database: Database = openDatabase(place)
  try {
    await database.read.connection().execute(async (connection) => {
      // A new database is a copy of files, which a busy disk may take longer over than any statement of a request.
      await sql`set statement_timeout = 0`.execute(connection)
      await work(connection)
    })
  } catch (error) {
    if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error
    throw new TemporaryDatabaseError('the role of DATABASE_URL may not create databases', { cause: error })
  } finally {
    await database.close()
  }
}
