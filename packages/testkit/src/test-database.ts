import { randomBytes } from 'node:crypto'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'

/** A database of one test's own, on the engine the run is for. */
export interface TestDatabase {
  /** DB_PATH or DATABASE_URL for the authority's settings. */
  readonly settings: Readonly<Record<string, string>>
  drop(): Promise<void>
}

export type Backend = 'sqlite' | 'postgres'

/** Feature tests run twice; the project of the test runner says on which engine. */
export function currentBackend(): Backend {
  return process.env['CHANCERY_TEST_DATABASE'] === 'postgres' ? 'postgres' : 'sqlite'
}

/** Returns the URL of the server that tests create databases on. */
export function postgresServer(): string {
  return process.env['CHANCERY_TEST_POSTGRES'] ?? 'postgresql://postgres@127.0.0.1:5432/postgres'
}

export async function createTestDatabase(backend: Backend = currentBackend()): Promise<TestDatabase> {
  return backend === 'postgres' ? createPostgres() : createSqlite()
}

export async function createSqlite(): Promise<TestDatabase> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-test-'))
  return {
    settings: { DB_PATH: join(folder, 'authority.db') },
    drop: () => rm(folder, { recursive: true, force: true }),
  }
}

export async function createPostgres(template = 'template1'): Promise<TestDatabase> {
  const name = `test_${randomBytes(8).toString('hex')}`
  await runOnServer(`create database ${name} template ${template}`)
  const url = new URL(postgresServer())
  url.pathname = `/${name}`
  return {
    settings: { DATABASE_URL: url.href },
    drop: () => runOnServer(`drop database if exists ${name} with (force)`),
  }
}

export async function runOnServer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgresServer() })
  await client.connect()
  try {
    await client.query(statement)
  } finally {
    await client.end()
  }
}
