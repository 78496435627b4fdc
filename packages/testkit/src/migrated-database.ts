import { randomBytes } from 'node:crypto'
import { rmSync } from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { prepareDatabase } from '@chancery/authority'
import { systemClock } from '@chancery/service-kit'
import { createPostgres, createSqlite, currentBackend, postgresServer, runOnServer } from './test-database.ts'
import type { Backend, TestDatabase } from './test-database.ts'

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
