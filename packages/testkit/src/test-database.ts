import { randomBytes } from 'node:crypto'
import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import pg from 'pg'
import { rmSync } from 'node:fs'
import { prepareDatabase } from '@chancery/authority'
import { systemClock } from '@chancery/service-kit'

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

/** Names the database that {@link makeTemplate} made for a whole run; without it each database is migrated by its authority. */
const TEMPLATE = 'CHANCERY_TEST_TEMPLATE'

/** A database with the schema of this release, copied: two dozen migrations for each test cost most of its start. */
export async function createMigratedDatabase(backend: Backend = currentBackend()): Promise<TestDatabase> {
  if (backend === 'postgres') return createPostgres(process.env[TEMPLATE])
  const database = await createSqlite()
  await copyFile(await migratedFile(), pathOf(database))
  return database
}

/** Before a run of tests on PostgreSQL; the answer removes the template again. */
export async function makeTemplate(): Promise<() => Promise<void>> {
  const name = `chancery_template_${randomBytes(8).toString('hex')}`
  await runOnServer(`create database ${name}`)
  const url = new URL(postgresServer())
  url.pathname = `/${name}`
  await prepareDatabase({ kind: 'postgres', url: url.href }, () => systemClock.now())
  process.env[TEMPLATE] = name
  return () => runOnServer(`drop database if exists ${name} with (force)`)
}

let kept: Promise<string> | undefined

/** One for each process, gone with it. */
function migratedFile(): Promise<string> {
  kept ??= (async () => {
    const path = pathOf(await createSqlite())
    process.once('exit', () => rmSync(dirname(path), { recursive: true, force: true }))
    await prepareDatabase({ kind: 'sqlite', path }, () => systemClock.now())
    return path
  })()
  return kept
}

function pathOf({ settings }: TestDatabase): string {
  return settings['DB_PATH'] ?? ''
}
