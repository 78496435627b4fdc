import { copyFile, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock, systemIds } from '@chancery/service-kit'
import {
  accepted,
  createMigratedDatabase,
  createTestDatabase,
  currentBackend,
  startTestAuthority,
} from '@chancery/testkit'
import type { TestAuthority, TestDatabase } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type HighWater, readMark } from '../rollback/mark-file.ts'
import { forgetMarks } from '../rollback/mark-memory.ts'
import { EXPECTED_SCHEMA_VERSION } from '../database/migrate.ts'
import { compareRows, describeTables } from '../database/copy/copy-rows.ts'
import { DOMAINS } from '../database/locks/domains.ts'
import type { Database } from '../database/database.ts'
import { openPostgres } from '../database/postgres/open.ts'
import { openSqliteExclusive } from '../database/sqlite/open.ts'
import { UnfinishedCopyError } from '../database/copy/unfinished-copy.ts'
import { inspectStore } from '../features/evidence/verify-store.ts'
import { type Copied, type CopyFacts, type CopyProgress, copyDatabase } from './copy-database.ts'
import { inspectDatabase } from './inspect.ts'
import { startUsedAuthority } from './used-authority.suite.ts'
import { rowsOf } from '../testing/rows.suite.ts'

const SERVED = ['/crl', '/sovereign-revocation-feed', '/policy', '/recognition-policy', '/data-usage/policy']

/** What `chancery authority migrate` does; needs both engines, so it runs once. */
describe.runIf(currentBackend() === 'postgres')('copyDatabase', () => {
  let folder: string
  let life: TestDatabase
  let served: readonly string[]
  let authority: CopyFacts['authority']
  let mark: HighWater | undefined
  /** Opened for one test each. */
  let path: string
  let source: Database
  let place: TestDatabase
  let target: Database

  const copy = (more: Partial<CopyFacts> = {}): Promise<Copied> =>
    copyDatabase({
      source,
      target,
      authority,
      marks: mark === undefined ? [] : [mark],
      restart: false,
      clock: systemClock,
      ids: systemIds,
      inspect: (db) => inspectDatabase(db, authority, inspectStore),
      onProgress: () => undefined,
      ...more,
    })
  const read = (na: TestAuthority): Promise<string[]> =>
    Promise.all(SERVED.map(async (at) => (await na.request('GET', at)).text))
  const startOn = (database: TestDatabase): Promise<TestAuthority> =>
    startTestAuthority({ database, settings: { EVIDENCE_STORE: 'on', NA_ANCHOR_INTERVAL_SECONDS: '0' } })

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'chancery-copy-'))
    life = await createMigratedDatabase('sqlite')
    const na = await startUsedAuthority({ database: life })
    served = await read(na)
    authority = { publicKeys: [na.genesis.network_authority.public_key], sovereign: na.genesis.network_name }
    await na.core.rollback.writeMark()
    await na.stop()
    mark = await readMark(`${life.settings['DB_PATH']}.mark`, authority.publicKeys)
  })
  afterAll(async () => {
    await life.drop()
    await rm(folder, { recursive: true })
  })
  beforeEach(async () => {
    path = join(folder, `${systemIds.hex(8)}.db`)
    await copyFile(life.settings['DB_PATH'] ?? '', path)
    source = openSqliteExclusive(path)
    place = await createTestDatabase('postgres')
    target = openPostgres(place.settings['DATABASE_URL'] ?? '')
  })
  afterEach(async () => {
    await source.close()
    await target.close()
    await place.drop()
  })

  it('copies every row, reports progress, and an authority continues there with the same bytes', async () => {
    const steps: CopyProgress[] = []
    const { tables, records } = await copy({ onProgress: (progress) => steps.push(progress) })
    expect(tables).toMatchObject({
      crl_versions: 4,
      issued_certs: 3,
      evidence_entries: 6,
      boundary_policies: 2,
      heads: DOMAINS.length,
    })
    expect(Object.keys(tables)).not.toContain('schema_version')
    expect(records).toMatchObject({ crl: 4, attestation: 3, treaty: 2, 'evidence entry': 6 })
    for (const step of ['copying', 'comparing'] as const)
      expect(steps.filter((each) => each.step === step && each.table === 'issued_certs')).toEqual([
        { step, table: 'issued_certs', done: 3, total: 3 },
      ])
    await source.close()
    const na = await startOn(place)
    try {
      expect(await read(na)).toEqual(served)
      expect(accepted(await na.as('standard')('GET', '/admin/evidence/verify'))['verified']).toBe(true)
      accepted(await na.as('privileged')('POST', '/admin/policy', { policy_id: 'after' }), 201)
    } finally {
      await na.stop()
    }
    // The copy is never overwritten.
    source = openSqliteExclusive(path)
    await expect(copy()).rejects.toMatchObject({ code: 'target_not_empty' })
    await expect(copy({ restart: true })).rejects.toMatchObject({ code: 'target_not_empty' })
  })

  it('leaves an unusable target when it is interrupted, and continues only with the option to begin again', async () => {
    const interrupt = (): never => {
      throw new Error('interrupted')
    }
    await expect(copy({ onProgress: interrupt })).rejects.toThrow('interrupted')
    await expect(startOn(place)).rejects.toThrow(UnfinishedCopyError)
    await expect(copy()).rejects.toMatchObject({ code: 'copy_unfinished' })
    await copy({ restart: true })
    await (await startOn(place)).stop()
  })

  it('removes nothing that no copy made', async () => {
    await expect(copy({ inspect: () => Promise.reject(new Error('interrupted')) })).rejects.toThrow('interrupted')
    await sql`create table theirs (id integer)`.execute(rowsOf(target))
    await expect(copy({ restart: true })).rejects.toMatchObject({ code: 'target_not_empty' })
  })

  it.each([
    ['a table of another program', 'create table theirs (id integer)'],
    ['a view', 'create view theirs as select 1 as one'],
  ])('refuses a database that holds %s', async (_what, statement) => {
    await sql.raw(statement).execute(rowsOf(target))
    await expect(copy()).rejects.toMatchObject({ code: 'target_not_empty' })
  })

  it('refuses a source that is in use, and locks it during the copy', async () => {
    expect(() => openSqliteExclusive(path)).toThrow(/SQLite is unavailable/)
    await expect(startOn({ settings: { DB_PATH: path }, drop: () => Promise.resolve() })).rejects.toThrow(/DB_PATH/)
  })

  it('refuses an old backup, because its missing revocations could not be detected any more', async () => {
    await sql`delete from own_revocation_feeds where sequence = 2`.execute(rowsOf(source))
    await expect(copy()).rejects.toMatchObject({ code: 'source_behind_mark', message: expect.stringContaining('feed') })
  })

  it.each([
    ['of another network', { sovereign: 'OTHER-NET' }],
    ['of another key', { publicKeys: ['other'] }],
  ])('refuses a source %s', async (_what, other) => {
    await expect(copy({ authority: { ...authority, ...other } })).rejects.toMatchObject({ code: 'source_unfit' })
  })

  it('refuses a source of another release', async () => {
    await sql`delete from schema_version where version = ${EXPECTED_SCHEMA_VERSION}`.execute(rowsOf(source))
    await expect(copy()).rejects.toMatchObject({
      code: 'source_unfit',
      message: expect.stringContaining(`version ${EXPECTED_SCHEMA_VERSION - 1}`),
    })
  })

  it('refuses a source with a column that it would not copy', async () => {
    await sql`alter table issued_certs add column theirs text`.execute(rowsOf(source))
    await expect(copy()).rejects.toThrow('the column issued_certs.theirs is not known to this release')
    await expect(startOn(place)).rejects.toThrow(UnfinishedCopyError)
  })

  it('does not release a copy whose records do not verify', async () => {
    await sql`update recognition_treaties set treaty_json = replace(treaty_json, 'PARTNER', 'ANOTHER')`.execute(
      rowsOf(source),
    )
    await expect(copy()).rejects.toMatchObject({
      code: 'records_invalid',
      problems: expect.arrayContaining([expect.stringMatching(/^treaty \S+: its signature/)]),
    })
    await expect(startOn(place)).rejects.toThrow(UnfinishedCopyError)
  })

  it.each([
    [
      'edited',
      "update policy_versions set created_at = 'x' where position = 1",
      ['policy_versions [1]: created_at differs'],
    ],
    [
      'missing',
      'delete from policy_versions where position = 1',
      ['policy_versions [1]: was not copied', 'policy_versions: 1 rows instead of 2'],
    ],
    [
      'too many',
      "insert into policy_versions values (3, 'three', '{}', 0, 'x')",
      ['policy_versions: 3 rows instead of 2'],
    ],
  ])('finds a row that is %s', async (_what, statement, problems) => {
    await copy()
    // A copy knows nothing of marks.
    await source.write(forgetMarks)
    await sql.raw(statement).execute(rowsOf(target))
    const tables = await describeTables(source, target)
    const found: string[] = []
    for (const table of tables) found.push(...(await compareRows(source, rowsOf(target), table, () => undefined)))
    expect(found).toEqual(problems)
  })
})
