import { execFile, spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { currentBackend, startTemporaryPostgres, startTestAuthority } from '@chancery/testkit'
import type { TestResponse, TestAuthority, TestDatabase } from '@chancery/testkit'
import { sql } from 'kysely'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { checkWrites } from '../../commands/doctor/check-database.ts'
import { DiskFullError } from '../../database/errors.ts'
import { locationOf } from '../../database/database.suite.ts'
import { openDatabase } from '../../database/open.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

const run = promisify(execFile)
const MEBIBYTE = 1 << 20

/** A separate file system needs root. PostgreSQL must run on this machine, as the user of Debian's package. */
const canMount =
  process.getuid?.() === 0 &&
  spawnSync('unshare', ['-m', 'mount', '-t', 'tmpfs', 'tmpfs', '/mnt']).status === 0 &&
  (currentBackend() === 'sqlite' || spawnSync('id', ['postgres']).status === 0)

const readyz = (na: TestAuthority): Promise<TestResponse> => na.request('GET', '/readyz')
const reasonsOf = (answer: TestResponse): unknown =>
  (answer.json as { error?: { details: { reasons: unknown } } }).error?.details.reasons

/** A write of a caller finds the full disk first: /readyz does not wait for its next probe. */
async function expectFull(na: TestAuthority): Promise<void> {
  const large = { name: 'large', at: randomBytes(MEBIBYTE).toString('hex') }
  await expect(na.core.database.write((tx) => tx.query.insertInto('moments').values(large).execute())).rejects.toThrow(
    /full|space|no room/i,
  )
  const answer = await readyz(na)
  expect([answer.status, reasonsOf(answer)]).toEqual([503, ['database_unavailable', 'disk_full']])
  expect((await na.request('GET', '/metrics')).text).toContain('\nchancery_ready 0\n')
  expect(await checkWrites(na.core.database)).toMatchObject({ check: 'database-writes', status: 'bad' })
}

describe.runIf(canMount)('a full disk', () => {
  let folder: string
  let database: TestDatabase
  let na: TestAuthority

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-full-'))
    await run('mount', ['-t', 'tmpfs', '-o', 'size=32m', 'tmpfs', folder])
    database = currentBackend() === 'sqlite' ? inFolder(folder) : await inTablespace(folder)
    na = await startTestAuthority({ database })
  })
  afterAll(async () => {
    await na.stop()
    await database.drop()
    await run('umount', ['-l', folder])
    await rm(folder, { recursive: true, force: true })
  })

  it('changes /readyz, the metric and the doctor, and all of them recover', { timeout: 90_000 }, async () => {
    expect((await readyz(na)).status).toBe(200)
    await fill(folder)
    await expectFull(na)
    // Checked from outside, with a separate probe.
    const other = openDatabase(locationOf(database))
    await expect(other.checkWritable()).rejects.toBeInstanceOf(DiskFullError)
    await other.close()
    await rm(join(folder, 'filler'))
    await vi.waitFor(async () => expect((await readyz(na)).status).toBe(200), { timeout: 60_000, interval: 500 })
    expect(await checkWrites(na.core.database)).toMatchObject({ status: 'good' })
  })
})

describe('an engine that reports a full disk', () => {
  let na: TestAuthority
  beforeAll(async () => {
    na = await startTestAuthority()
  })
  afterAll(() => na.stop())

  it('changes /readyz', async () => {
    expect((await readyz(na)).status).toBe(200)
    const db = rowsOf(na.core.database)
    if (currentBackend() === 'sqlite') {
      const { rows } = await sql<{ page_count: number }>`pragma page_count`.execute(db)
      await sql.raw(`pragma max_page_count = ${rows[0]?.page_count ?? 0}`).execute(db)
    } else {
      await sql`create function refuse_full() returns trigger language plpgsql as
        $$ begin raise exception 'no room' using errcode = 'disk_full'; end $$`.execute(db)
      await sql`create trigger full_disk before insert on moments execute function refuse_full()`.execute(db)
    }
    await expectFull(na)
  })
})

function inFolder(folder: string): TestDatabase {
  return { settings: { DB_PATH: join(folder, 'authority.db') }, drop: async () => undefined }
}

/** On its own server: while the tablespace is full, no checkpoint of the server succeeds. */
async function inTablespace(folder: string): Promise<TestDatabase> {
  const server = await startTemporaryPostgres()
  await run('chown', ['postgres', folder])
  const client = new pg.Client({ connectionString: server.url })
  await client.connect()
  await client.query(`create tablespace small location '${folder}'`)
  await client.query('create database authority tablespace small')
  await client.end()
  const url = new URL(server.url)
  url.pathname = '/authority'
  return { settings: { DATABASE_URL: url.href }, drop: () => server.remove() }
}

/** To the last byte that the disk accepts. */
async function fill(folder: string): Promise<void> {
  const error = await writeFile(join(folder, 'filler'), Buffer.alloc(64 * MEBIBYTE)).catch((failed: unknown) => failed)
  expect(error).toMatchObject({ code: 'ENOSPC' })
}
