import { randomUUID } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createTestDatabase, createTestNetwork, ownKeysOf, startTemporaryPostgres } from '@chancery/testkit'
import type { TestDatabase, TestNetwork } from '@chancery/testkit'
import pg from 'pg'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { EXPECTED_SCHEMA_VERSION } from '../database/migrate.ts'
import { migrateSchema } from './migrate.ts'

const onPostgres = process.env['CHANCERY_TEST_DATABASE'] === 'postgres'

describe('authority migrate', () => {
  let network: TestNetwork
  let database: TestDatabase
  let folder: string
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-migrate-'))
    network = await createTestNetwork('MIGRATED-NET')
    database = await createTestDatabase()
  })
  afterEach(async () => {
    await database.drop()
    await network.remove()
    await rm(folder, { recursive: true })
  })

  const migrateAs = async (
    of: TestNetwork,
    more: Readonly<Record<string, string>> = {},
  ): ReturnType<typeof migrateSchema> => {
    const settings = Object.entries({ ...of.settings, ...database.settings, ...more })
    const envFile = join(folder, `${randomUUID()}.env`)
    await writeFile(envFile, settings.map(([name, value]) => `${name}=${value}`).join('\n'))
    return migrateSchema({ flags: {}, envFile })
  }

  it('brings a new database to the version of this release, and a second time changes nothing', async () => {
    const to = EXPECTED_SCHEMA_VERSION
    expect(await migrateAs(network)).toEqual({ ok: true, from: 0, to })
    expect(await migrateAs(network)).toEqual({ ok: true, from: to, to })
  })

  it('applies each migration once when several run at the same time', async () => {
    const outcomes = await Promise.all([migrateAs(network), migrateAs(network), migrateAs(network)])
    expect(outcomes).toEqual(Array(3).fill(expect.objectContaining({ ok: true, to: EXPECTED_SCHEMA_VERSION })))
    expect(await migrateAs(network)).toMatchObject({ from: EXPECTED_SCHEMA_VERSION })
  })

  it('refuses the database of another authority', async () => {
    await migrateAs(network)
    const other = await createTestNetwork('OTHER-NET', ownKeysOf('OTHER-NET'))
    try {
      expect(await migrateAs(other)).toMatchObject({
        ok: false,
        code: 'settings_invalid',
        message: 'DATABASE_URL: the database belongs to network MIGRATED-NET or to another authority key',
      })
    } finally {
      await other.remove()
    }
  })

  it('names the setting of a database that cannot be opened', async () => {
    const wrong =
      'DB_PATH' in database.settings
        ? { DB_PATH: join(folder, 'none/a.db') }
        : { DATABASE_URL: 'postgresql://127.0.0.1:1/none' }
    expect(await migrateAs(network, wrong)).toMatchObject({
      ok: false,
      message: expect.stringMatching(/cannot be opened: .*(?:ECONNREFUSED 127\.0\.0\.1:1|unable to open|ENOENT)/),
    })
  })

  it.runIf(onPostgres)('names the missing right when another role owns the database', async () => {
    const server = await startTemporaryPostgres()
    try {
      const client = new pg.Client({ connectionString: server.url })
      await client.connect()
      await client.query('create role guest login')
      await client.end()
      const url = new URL(server.url)
      url.username = 'guest'
      expect(await migrateAs(network, { DATABASE_URL: url.href })).toMatchObject({
        ok: false,
        code: 'settings_invalid',
        message: expect.stringMatching(
          /^DATABASE_URL: .*the role must own the database .*permission denied for schema/,
        ),
      })
    } finally {
      await server.remove()
    }
  })
})
