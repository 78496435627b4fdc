import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
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

/** A connection that ends with the benchmark. */
export async function connect(url: string, cleanup: Cleanup): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  cleanup.add(() => client.end())
  return client
}

/** Uses a connection, and ends it. */
export async function withClient<Result>(url: string, work: (client: pg.Client) => Promise<Result>): Promise<Result> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    return await work(client)
  } finally {
    await client.end()
  }
}

async function command(text: string): Promise<void> {
  await withClient(`${POSTGRES_SERVER}/postgres`, (client) => client.query(text))
}

/** Whole numbers as rows with the column n, to insert many rows with one statement. */
export function numbersFrom({ kind }: Database, from: number, to: number): string {
  return kind === 'postgres'
    ? `(select n from generate_series(${from}, ${to}) as t(n)) as numbered`
    : `(with recursive t(n) as (select ${from} union all select n + 1 from t where n < ${to}) select n from t) as numbered`
}

/** Runs statements on a separate connection. */
export async function onDatabase(
  { kind, url }: Database,
  work: (execute: (text: string) => Promise<void>) => Promise<void>,
): Promise<void> {
  if (kind === 'postgres') {
    return withClient(url, (client) => work(async (text) => void (await client.query(text))))
  }
  const file = new DatabaseSync(url.slice('sqlite://'.length), { timeout: 10_000 })
  await work(async (text) => file.exec(text))
  file.close()
}
