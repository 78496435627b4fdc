import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Ids } from '@chancery/service-kit'
import pg from 'pg'
import { sqlState } from '../postgres/client.ts'
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
  await onServer(like.url, `create database "${name}"`)
  return {
    place: { ...like, url: url.href },
    drop: () => onServer(like.url, `drop database if exists "${name}" with (force)`),
  }
}

/** On a separate connection, because a database cannot be created in a transaction. */
async function onServer(url: string, statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1000 })
  // A broken connection fails the statement; without a listener the event would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await client.query(statement)
  } catch (error) {
    if (sqlState(error) !== INSUFFICIENT_PRIVILEGE) throw error
    throw new TemporaryDatabaseError('the role of DATABASE_URL may not create databases', { cause: error })
  } finally {
    await client.end().catch(() => undefined)
  }
}
