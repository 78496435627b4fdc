import { copyFile, cp, mkdtemp, readFile, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { writePrivateKeyFile } from '@chancery/protocol'
import {
  accepted,
  createTestDatabase,
  currentBackend,
  startTestAuthority,
  testSeed,
  testSigner,
} from '@chancery/testkit'
import type { TestDatabase } from '@chancery/testkit'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sql } from 'kysely'
import { commands } from '../index.ts'
import { copyRows, describeTables } from '../database/copy/copy-rows.ts'
import { EXPECTED_SCHEMA_VERSION, migrate } from '../database/migrate.ts'
import { type DatabaseLocation, openDatabase } from '../database/open.ts'
import { openSqliteReadOnly } from '../database/sqlite/open.ts'
import { rowsOf } from '../testing/rows.suite.ts'
import { type BackupManifest, writeManifest } from './manifest.ts'
import { type HighWater, writeMark } from '../rollback/mark-file.ts'

const RELEASES = join(import.meta.dirname, '..', '..', '..', '..', 'tests', 'fixtures', 'releases')
const QUIET = { flags: {}, onProgress: () => undefined }

/** The tables of a release, as it left them, on the engine of this run. */
async function fillAtSchema(place: DatabaseLocation, file: string, upTo: number): Promise<void> {
  if (place.kind === 'sqlite') return copyFile(file, place.path)
  const [source, target] = [openSqliteReadOnly(file), openDatabase(place)]
  try {
    await migrate(target, () => 0n, { upTo })
    for (const table of await describeTables(source, target)) await copyRows(source, target, table, () => undefined)
  } finally {
    await source.close()
    await target.close()
  }
}

function placeOf({ settings: { DB_PATH: path, DATABASE_URL: url } }: TestDatabase): DatabaseLocation {
  return path === undefined ? { kind: 'postgres', url: url ?? '' } : { kind: 'sqlite', path }
}

/** The settings of the authority of a fixture, as a file in `folder`. */
async function writeSettings(folder: string, from: string, database: TestDatabase): Promise<string> {
  const keyFile = join(folder, 'na.key')
  await writeFile(keyFile, writePrivateKeyFile(testSeed('na'), 'na-test'), { mode: 0o600 })
  const settings = {
    GENESIS_FILE: join(from, 'genesis.json'),
    NA_PRIVATE_KEY_FILE: keyFile,
    NA_KEY_ID: 'na-test',
    OPERATOR_PUBLIC_KEYS_JSON: JSON.stringify({ 'op-privileged': (await testSigner('op-privileged')).publicKey }),
    OPERATOR_KEY_TIERS_JSON: '{"op-privileged":"privileged"}',
    ...database.settings,
  }
  const envFile = join(folder, 'authority.env')
  const lines = Object.entries(settings).map(([name, value]) => `${name}=${value}\n`)
  await writeFile(envFile, lines.join(''))
  return envFile
}

/** Databases of earlier releases (tests/tools/make-release-fixture.ts), migrated to this one. */
describe.each(await readdir(RELEASES))('the database of release %s', (release) => {
  const from = join(RELEASES, release)
  let folder: string
  let database: TestDatabase
  let envFile: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-release-'))
    database = await createTestDatabase()
    envFile = await writeSettings(folder, from, database)
  })
  afterAll(async () => {
    await database.drop()
    await rm(folder, { recursive: true })
  })

  it('is rehearsed: migrated in a copy, with every record verified', async () => {
    // Jobs of that authority published lists, too, so their number is in the manifest only.
    const { tables } = JSON.parse(await readFile(join(from, 'manifest.json'), 'utf8')) as {
      readonly tables: Readonly<Record<string, number>>
    }
    const crl = tables['crl_versions'] ?? 0
    expect(crl).toBeGreaterThanOrEqual(3)
    const outcome = await commands.rehearse({ ...QUIET, envFile, from, onSqlite: false })
    expect(outcome).toMatchObject({
      ok: true,
      engine: currentBackend(),
      schemaVersion: EXPECTED_SCHEMA_VERSION,
      records: { crl, certificate: 3, attestation: 3, treaty: 2, 'evidence entry': 6, 'evidence anchor': 1 },
    })
  })

  it('is backed up and rehearsed in place, before this release has migrated it', async () => {
    const { schema_version, high_water } = JSON.parse(await readFile(join(from, 'manifest.json'), 'utf8')) as {
      readonly schema_version: number
      readonly high_water: HighWater
    }
    const old = await createTestDatabase()
    const inPlace = join(folder, 'in-place.env')
    const mark = join(folder, 'in-place.mark')
    try {
      await fillAtSchema(placeOf(old), join(from, 'database.sqlite'), schema_version)
      // A list and a feed that retention has removed since.
      const removed = { digest: '0'.repeat(64), sequence: -1 }
      const signer = { ...(await testSigner('na')), provider: 'file' } as const
      await writeMark(mark, { ...high_water, versions: {}, crl: removed, feed: removed }, signer)
      const lines = (await readFile(envFile, 'utf8'))
        .split('\n')
        .filter((line) => !/^(?:DB_PATH|DATABASE_URL)=/.test(line))
      const settings = { ...old.settings, NA_HIGH_WATER_FILES: mark }
      for (const [name, value] of Object.entries(settings)) lines.push(`${name}=${value}`)
      await writeFile(inPlace, lines.join('\n'))
      const backup = { ...QUIET, envFile: inPlace, to: join(folder, 'in-place') }
      expect(await commands.backup(backup)).toMatchObject({ ok: true, behind: [], manifest: { schema_version } })
      for (const onSqlite of [false, true])
        expect(await commands.rehearse({ ...QUIET, envFile: inPlace, onSqlite })).toMatchObject({
          ok: true,
          behind: [],
          manifest: { schema_version },
          schemaVersion: EXPECTED_SCHEMA_VERSION,
          records: { certificate: 3, 'evidence entry': 6 },
        })
    } finally {
      await old.drop()
    }
  })

  it('is restored, and an authority of this release continues with it', async () => {
    const outcome = await commands.restore({ ...QUIET, envFile, from, restart: false, withoutMark: true })
    expect(outcome).toMatchObject({ ok: true })
    const na = await startTestAuthority({ database, settings: { EVIDENCE_STORE: 'on' } })
    try {
      expect(accepted(await na.request('GET', '/policy'))['policy_id']).toBe('two')
      accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'three' }), 201)
      expect(accepted(await na.as('standard')('GET', '/admin/evidence/verify'))['verified']).toBe(true)
    } finally {
      await na.stop()
    }
  })
})

describe('a database of a release before 0.2.0', () => {
  const from = join(RELEASES, '0.2.0')
  const SENTENCE = 'this database is of a release before 0.2.0: start 0.2.0 once, then this release'
  /** The schema of 0.1.0. */
  const VERSION = 11
  let folder: string
  let database: TestDatabase
  let envFile: string

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-release-'))
    database = await createTestDatabase()
    envFile = await writeSettings(folder, from, database)
    const old = openDatabase(placeOf(database))
    const db = rowsOf(old)
    await sql`create table schema_version (version integer primary key, applied_at text not null)`.execute(db)
    await sql`insert into schema_version values (${VERSION}, '2026')`.execute(db)
    await sql`create table authority_identity
      (id integer primary key, network_name text not null, public_key text not null, created_at text not null)`.execute(
      db,
    )
    await sql`insert into authority_identity values (1, 'TEST-NET', ${(await testSigner('na')).publicKey}, '2026')`.execute(
      db,
    )
    await old.close()
  })
  afterAll(async () => {
    await database.drop()
    await rm(folder, { recursive: true })
  })

  it('is not migrated, verified, backed up or rehearsed, and doctor says why', async () => {
    const refused = { ok: false, code: 'settings_invalid', message: expect.stringContaining(SENTENCE) as string }
    expect(await commands.migrateSchema({ flags: {}, envFile })).toMatchObject(refused)
    expect(await commands.verifyDatabase({ flags: {}, envFile })).toMatchObject(refused)
    expect(await commands.backup({ ...QUIET, envFile, to: join(folder, 'backup') })).toMatchObject(refused)
    expect(await commands.rehearse({ ...QUIET, envFile, onSqlite: false })).toMatchObject(refused)
    const findings = await commands.diagnose({ flags: {}, envFile })
    expect(findings.find(({ check }) => check === 'database-schema')).toMatchObject({
      status: 'bad',
      fix: 'Start release 0.2.0 once, then this release.',
    })
  })

  it('is not restored from its backup', async () => {
    const old = join(folder, 'old-backup')
    await cp(from, old, { recursive: true })
    const manifest = JSON.parse(await readFile(join(old, 'manifest.json'), 'utf8')) as BackupManifest
    await rm(join(old, 'manifest.json'))
    const unsigned = { ...manifest, schema_version: VERSION, signatures: undefined }
    await writeManifest(old, unsigned, await testSigner('na-test', 'na'))
    const args = { ...QUIET, envFile, from: old, restart: false, withoutMark: true }
    expect(await commands.restore(args)).toMatchObject({ ok: false, message: SENTENCE })
  })
})
