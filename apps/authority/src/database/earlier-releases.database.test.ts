import { copyFile, readFile, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { type TestDatabase, createMigratedDatabase, createTestDatabase, startTestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import pg from 'pg'
import { describe, expect, it } from 'vitest'
import { rowsOf } from '../testing/rows.suite.ts'
import { EXPECTED_SCHEMA_VERSION, OldSchemaError, migrate } from './migrate.ts'
import { useOpenedDatabases } from './partitions/opened-databases.suite.ts'
import { dumpRows, dumpSchema } from './schema-dump.suite.ts'

const RELEASES = join(import.meta.dirname, '..', '..', '..', '..', 'tests', 'fixtures', 'releases')

const { atEnd, open } = useOpenedDatabases()

async function newPlace(make: () => Promise<TestDatabase>): Promise<TestDatabase> {
  const place = await make()
  atEnd(() => place.drop())
  return place
}

/** As that release left it: with records on SQLite, new on PostgreSQL. */
async function openRelease(release: string) {
  const place = await newPlace(createTestDatabase)
  const { DB_PATH: path, DATABASE_URL: url } = place.settings
  if (path !== undefined) await copyFile(join(RELEASES, release, 'database.sqlite'), path)
  else {
    const client = new pg.Client({ connectionString: url })
    await client.connect()
    await client.query(await readFile(join(RELEASES, release, 'postgres.sql'), 'utf8'))
    await client.end()
  }
  return open(place)
}

describe.each(await readdir(RELEASES))('a database of release %s', (release) => {
  it('has after its migrations the schema of a new database, and the rows that one begins with', async () => {
    const [earlier, fresh] = [await openRelease(release), await open(await newPlace(createMigratedDatabase))]
    const { to } = await migrate(earlier, () => 0n)
    expect(to).toBe(EXPECTED_SCHEMA_VERSION)
    const schema = await dumpSchema(earlier)
    expect(schema).toEqual(await dumpSchema(fresh))
    expect(schema.length).toBeGreaterThan(700)
    const [rows, begun] = [await dumpRows(earlier), await dumpRows(fresh)]
    if (earlier.engine === 'postgres') return expect(rows).toEqual(begun)
    // The first column of these rows is their key.
    const keysOf = (lines: readonly string[] = []): readonly string[] => lines.map((line) => line.split(',')[0] ?? '')
    expect(begun.size).toBe(6)
    for (const [table, lines] of begun) expect(keysOf(rows.get(table)), table).toEqual(keysOf(lines))
  })
})

describe('a database of a release before 0.2.0', () => {
  const SENTENCE = 'this database is of a release before 0.2.0: start 0.2.0 once, then this release'

  it.each([1, 11, 47])('with schema version %i is refused, and not touched', async (version) => {
    const place = await newPlace(createTestDatabase)
    const database = await open(place)
    const db = rowsOf(database)
    await sql`create table schema_version (version integer primary key, applied_at text not null)`.execute(db)
    for (let each = 1; each <= version; each += 1)
      await sql`insert into schema_version (version, applied_at) values (${each}, '2026')`.execute(db)
    const before = await dumpSchema(database)
    const refused = migrate(database, () => 0n)
    await expect(refused).rejects.toThrow(OldSchemaError)
    await expect(refused).rejects.toThrow(SENTENCE)
    await expect(startTestAuthority({ database: place })).rejects.toThrow(SENTENCE)
    expect(await dumpSchema(database)).toEqual(before)
  })
})
