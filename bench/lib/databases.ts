import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import type { Cleanup } from './cleanup.ts'
import { POSTGRES_SERVER } from './conditions.ts'

export interface Database {
  readonly kind: 'postgres' | 'sqlite'
  readonly url: string
  /** As the server's process titles show it; empty for a file. */
  readonly name: string
}

/** A new PostgreSQL database that is dropped at the end. */
export async function createPostgres(cleanup: Cleanup): Promise<Database> {
  const name = `chancery_bench_${process.pid}_${randomBytes(4).toString('hex')}`
  await command(`create database ${name}`)
  cleanup.add(() => command(`drop database if exists ${name} with (force)`))
  return { kind: 'postgres', url: `${POSTGRES_SERVER}/${name}`, name }
}

export function createSqlite(directory: string): Database {
  const path = join(directory, `${randomBytes(4).toString('hex')}.db`)
  return { kind: 'sqlite', url: `sqlite:///${path}`, name: '' }
}

async function command(text: string): Promise<void> {
  const client = new pg.Client({ connectionString: `${POSTGRES_SERVER}/postgres` })
  await client.connect()
  try {
    await client.query(text)
  } finally {
    await client.end()
  }
}
