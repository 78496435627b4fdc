import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import type { TestDatabase } from '@chancery/testkit'
import pg from 'pg'

export type Row = Readonly<Record<string, unknown>>

/** Reads and fills the database of an authority directly. */
export interface Rows {
  readonly backend: 'sqlite' | 'postgres'
  /** Statements without parameters, in the SQL that both engines share. */
  query(text: string): Promise<readonly Row[]>
  /** One row per item; every item has the same members. */
  insert(table: string, items: readonly Row[]): Promise<void>
  close(): Promise<void>
}

export async function openRows(database: TestDatabase): Promise<Rows> {
  const url = database.settings['DATABASE_URL']
  return url === undefined ? openSqlite(database.settings['DB_PATH'] ?? '') : openPostgres(url)
}

async function openPostgres(url: string): Promise<Rows> {
  const client = new pg.Client({ connectionString: url, application_name: 'campaign' })
  await client.connect()
  return {
    backend: 'postgres',
    query: async (statement) => (await client.query<Row>(statement)).rows,
    insert: async (table, items) => {
      const names = Object.keys(items[0] ?? {})
      const columns = names.map((name) => items.map((item) => item[name]))
      const types = columns.map((column) => (typeof column[0] === 'number' ? 'bigint' : 'text'))
      const arrays = types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')
      await client.query(`insert into ${table} (${names.join(', ')}) select * from unnest(${arrays})`, columns)
    },
    close: () => client.end(),
  }
}

function openSqlite(path: string): Rows {
  const file = new DatabaseSync(path, { timeout: 10_000 })
  return {
    backend: 'sqlite',
    query: async (statement) => file.prepare(statement).all(),
    insert: async (table, items) => {
      const names = Object.keys(items[0] ?? {})
      const marks = names.map(() => '?').join(', ')
      const statement = file.prepare(`insert into ${table} (${names.join(', ')}) values (${marks})`)
      file.exec('begin immediate')
      for (const item of items) statement.run(...names.map((name) => item[name] as string | number | null))
      file.exec('commit')
    },
    close: async () => file.close(),
  }
}

/** Returns a member as text; empty when it is absent or no scalar. */
export function text(row: Row | undefined, name: string): string {
  const value = row?.[name]
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''
}

/**
 * Opens the database of a killed authority for one check. No connection of a campaign stays open during a kill:
 * otherwise SQLite would not have to recover its log at the next start, as it must after a crash.
 */
export async function withRows<Result>(database: TestDatabase, look: (rows: Rows) => Promise<Result>): Promise<Result> {
  const rows = await openRows(database)
  try {
    return await look(rows)
  } finally {
    await rows.close()
  }
}

const SILENCE_SECONDS = 20

/** The server still works for a moment after its client was killed. What it commits then is committed. */
export async function waitUntilIdle(database: TestDatabase): Promise<void> {
  if (database.settings['DATABASE_URL'] === undefined) return
  const busy = `select pid from pg_stat_activity where application_name = 'chancery-authority' and datname = current_database()`
  const deadline = performance.now() + SILENCE_SECONDS * 1000
  await withRows(database, async (rows) => {
    while ((await rows.query(busy)).length > 0) {
      if (performance.now() > deadline) throw new Error('connections of a killed authority stay')
      await pause(20)
    }
  })
}
