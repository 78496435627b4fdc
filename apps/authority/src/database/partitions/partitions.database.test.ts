import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type TestDatabase, createMigratedDatabase, currentBackend } from '@chancery/testkit'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { listColumns, listTables } from '../copy/unfinished-copy.ts'
import { copyRows, describeTables } from '../copy/copy-rows.ts'
import { snapshotInto } from '../copy/snapshot.ts'
import type { Database } from '../database.ts'
import { migrate } from '../migrate.ts'
import { openDatabase } from '../open.ts'
import { countTables, measureBytes } from '../sizes/measure-tables.ts'
import { rowsOf } from '../../testing/rows.suite.ts'
import { entryRow, usePartitionsOf } from './evidence-partitions.suite.ts'
import { EVIDENCE } from './evidence-partitions.ts'
import { makeRoom, missingIn, readBound, readLayout } from './layout.ts'
import { useOpenedDatabases } from './opened-databases.suite.ts'
import { firstBound, partitionTables } from './keep-partitions.ts'
import { changeTables } from './table-lock.ts'

const isPostgres = currentBackend() === 'postgres'
const SIZE = 100

const { atEnd, open } = useOpenedDatabases()

/** A store with one table, and this many entries. */
async function openPlain(entries: number): Promise<{ readonly database: Database; readonly place: TestDatabase }> {
  const place = await createMigratedDatabase()
  atEnd(() => place.drop())
  const database = await open(place)
  await addEntries(database, 1, entries)
  return { database, place }
}

async function openSmall(size: number): Promise<Database> {
  const place = await createMigratedDatabase()
  atEnd(() => place.drop())
  const database = await open(place)
  await usePartitionsOf(database, size)
  return database
}

async function addEntries(database: Database, from: number, through: number): Promise<void> {
  const rows = Array.from({ length: through - from + 1 }, (_, at) => entryRow(from + at))
  if (rows.length > 0) await rowsOf(database).insertInto('evidence_entries').values(rows).execute()
  await rowsOf(database).updateTable('evidence_head').set({ last_sequence: through }).execute()
}

async function namesOf(database: Database): Promise<readonly string[] | undefined> {
  return (await readLayout(database.read, EVIDENCE))?.partitions.map(({ name, to }) => `${name} < ${to}`)
}

describe('a new store', () => {
  it('has one table for entries on both engines, whose columns are the same', async () => {
    const place = await createMigratedDatabase()
    atEnd(() => place.drop())
    const database = await open(place)
    const tables = await listTables(database)
    expect(tables.filter((name) => name.startsWith('evidence_entries'))).toEqual(['evidence_entries'])
    const columns = (await listColumns(database)).filter(({ table }) => table.startsWith('evidence_entries'))
    expect(columns.map(({ name }) => name)).toHaveLength(15)
    await addEntries(database, 1, 3)
    expect((await countTables(database)).get('evidence_entries')).toBe(3)
    expect((await measureBytes(database)).get('evidence_entries')).toBeGreaterThan(8192)
  })
})

describe('the bounds of partitions', () => {
  it('leave room in the first one, and are multiples of the size', () => {
    expect(firstBound(0, 100)).toBe(100)
    expect(firstBound(49, 100)).toBe(100)
    expect(firstBound(50, 100)).toBe(200)
    expect(firstBound(10_000, 100)).toBe(11_100)
  })

  it('are missing where no partition has the entry', () => {
    const layout = {
      size: 100,
      partitions: [
        { name: 'a', suffix: '', from: Number.NEGATIVE_INFINITY, to: 200 },
        { name: 'b', suffix: '', from: 300, to: 400 },
      ],
    }
    expect(missingIn(layout, { from: 1, through: 199 })).toEqual([])
    expect(missingIn(layout, { from: 199, through: 200 })).toEqual([200])
    expect(missingIn(layout, { from: 350, through: 620 })).toEqual([400, 500, 600])
  })
})

describe('a store with one table', () => {
  it.runIf(isPostgres)('is partitioned with the same entries, guards and indexes', async () => {
    const { database } = await openPlain(120)
    const read = () => database.read.selectFrom('evidence_entries').selectAll().orderBy('store_sequence').execute()
    const before = await read()
    expect(await partitionTables(database, EVIDENCE, { size: SIZE })).toBe(true)
    expect(await namesOf(database)).toEqual(['evidence_entries_0 < 200'])
    expect(await read()).toEqual(before)
    expect(await readBound(database.read, EVIDENCE)).toBeUndefined()
    await database.write((tx) => makeRoom(tx, EVIDENCE, { from: 121, through: 250 }))
    expect(await namesOf(database)).toEqual(['evidence_entries_0 < 200', 'evidence_entries_200 < 300'])
    await addEntries(database, 121, 250)
    for (const change of [
      'update evidence_entries set line = null',
      'delete from evidence_entries',
      'truncate evidence_entries',
      'truncate evidence_entries_200',
    ])
      await expect(sql.raw(change).execute(rowsOf(database)), change).rejects.toThrow('never changed')
    const { rows } = await sql<{ valid: number; indexes: number }>`
      select count(*) filter (where i.indisvalid) as valid, count(*) as indexes from pg_index i
      where i.indrelid in ('evidence_entries'::regclass, 'evidence_entries_0'::regclass, 'evidence_entries_200'::regclass)`.execute(
      database.read,
    )
    expect(rows[0]).toEqual({ valid: 9 + 13 + 13, indexes: 9 + 13 + 13 })
  })

  it.runIf(isPostgres)('is partitioned through connections of a pooler', async () => {
    const { place } = await openPlain(10)
    const database = await open(place, 'transaction')
    expect(await partitionTables(database, EVIDENCE, { size: SIZE })).toBe(true)
    expect(await namesOf(database)).toEqual(['evidence_entries_0 < 100'])
  })

  it.runIf(isPostgres)(
    'is partitioned by the next run when one stopped at any step, or when two run at once',
    async () => {
      const { database, place } = await openPlain(10)
      await sql`alter table evidence_entries add constraint evidence_entries_below_100 check (store_sequence < 100) not valid`.execute(
        rowsOf(database),
      )
      expect(await readBound(database.read, EVIDENCE)).toMatchObject({ bound: 100, unchecked: ['evidence_entries'] })
      const other = await open(place)
      expect(
        await Promise.all([database, other].map((each) => partitionTables(each, EVIDENCE, { size: SIZE }))),
      ).toEqual([true, true])
      expect(await namesOf(database)).toEqual(['evidence_entries_0 < 100'])
    },
  )

  it.runIf(isPostgres)('gets a later bound when the chain has come close to the first', async () => {
    const { database } = await openPlain(10)
    await sql`alter table evidence_entries add constraint evidence_entries_below_100 check (store_sequence < 100) not valid`.execute(
      rowsOf(database),
    )
    await addEntries(database, 11, 90)
    expect(await partitionTables(database, EVIDENCE, { size: SIZE })).toBe(true)
    expect(await namesOf(database)).toEqual(['evidence_entries_0 < 200'])
  })

  it.runIf(isPostgres)('takes entries beyond a bound that no run has used', async () => {
    const { database } = await openPlain(99)
    await sql`alter table evidence_entries add constraint evidence_entries_below_100 check (store_sequence < 100) not valid`.execute(
      rowsOf(database),
    )
    expect(await database.write((tx) => makeRoom(tx, EVIDENCE, { from: 98, through: 99 }))).toBe(99)
    await database.write((tx) => makeRoom(tx, EVIDENCE, { from: 100, through: 101 }))
    await addEntries(database, 100, 101)
    expect(await readBound(database.read, EVIDENCE)).toBeUndefined()
  })
})

describe('a value that must be unique', () => {
  const execution = (more: Readonly<Record<string, string | number>>) => ({
    entry_kind: 'execution',
    exec_sequence_no: 1,
    ...more,
  })
  it.runIf(isPostgres).each([
    ['decision', (id: string) => ({ decision_id: id })],
    ['evidence id', (id: string) => execution({ evidence_id: id })],
    ['position of a decision', (id: string) => execution({ decision_id: id })],
    ['position of a resource', (id: string) => execution({ resource_id: id, resource_sequence: 1 })],
  ])('is refused in another partition as in the same: %s', async (_, valuesOf) => {
    const database = await openSmall(SIZE)
    await database.write((tx) => makeRoom(tx, EVIDENCE, { from: 1, through: 350 }))
    const insert = (...rows: readonly ReturnType<typeof entryRow>[]): Promise<unknown> =>
      rowsOf(database).insertInto('evidence_entries').values(rows).execute()
    const [one, other] = [valuesOf('one'), valuesOf('other')]
    await insert(entryRow(1, one), entryRow(2))
    const unique = { code: '23505' }
    await expect(insert(entryRow(3, one))).rejects.toMatchObject(unique)
    await expect(insert(entryRow(150, one))).rejects.toMatchObject(unique)
    await expect(insert(entryRow(198), entryRow(350, one))).rejects.toMatchObject(unique)
    // Both new, on both sides of a bound.
    await expect(insert(entryRow(199, other), entryRow(200, other))).rejects.toMatchObject(unique)
    await insert(entryRow(199, other), entryRow(200))
  })
})

describe('a copy', () => {
  async function newFile(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-partitions-'))
    atEnd(() => rm(folder, { recursive: true }))
    return join(folder, 'copy.db')
  }

  it.runIf(isPostgres)('has the entries of all partitions, and no partition goes while it is made', async () => {
    const database = await openSmall(SIZE)
    await database.write((tx) => makeRoom(tx, EVIDENCE, { from: 1, through: 250 }))
    await addEntries(database, 1, 250)
    const path = await newFile()
    const locked = new Map<string, Promise<boolean>>()
    const isLocked = async (): Promise<boolean> => {
      const { rows } = await sql<{ found: boolean }>`select exists (select 1 from pg_locks
        where relation = 'evidence_entries_200'::regclass and mode = 'AccessShareLock' and granted) as found`.execute(
        database.read,
      )
      return rows[0]?.found === true
    }
    await snapshotInto(
      database,
      path,
      () => 0n,
      ({ table }) => void locked.set(table, isLocked()),
    )
    // A table that is copied before the entries.
    expect(await locked.get('decision_facts_head')).toBe(true)
    const copy = openDatabase({ kind: 'sqlite', path })
    atEnd(() => copy.close())
    expect((await countTables(copy)).get('evidence_entries')).toBe(250)
  })

  it.runIf(isPostgres)('of a file goes to one table, which is partitioned later', async () => {
    const path = await newFile()
    const source = openDatabase({ kind: 'sqlite', path })
    atEnd(() => source.close())
    await migrate(source, () => 0n)
    const first = 35_000_000
    await addEntries(source, first, first + 2)
    const place = await createMigratedDatabase()
    atEnd(() => place.drop())
    const target = await open(place)
    const table = (await describeTables(source, target)).find(({ name }) => name === 'evidence_entries')
    if (table === undefined) throw new Error('no table of entries')
    await copyRows(source, target, table, () => undefined)
    expect(await namesOf(target)).toBeUndefined()
    await rowsOf(target)
      .updateTable('evidence_head')
      .set({ last_sequence: first + 2 })
      .execute()
    expect(await partitionTables(target, EVIDENCE)).toBe(true)
    expect(await namesOf(target)).toEqual(['evidence_entries_0 < 50000000'])
    expect((await countTables(target)).get('evidence_entries')).toBe(3)
  })
})

describe('the lock on the table of entries', () => {
  it.runIf(isPostgres)('is given up while a transaction reads it, and requests go on', async () => {
    const database = await openSmall(SIZE)
    await addEntries(database, 1, 1)
    const stop = new AbortController()
    const plan = async (): Promise<readonly string[]> => [
      'create table changed (id integer)',
      'drop table if exists absent',
    ]
    const isChanged = async (): Promise<boolean> => (await listTables(database)).includes('changed')
    await database.write(async (tx) => {
      await tx.query.selectFrom('evidence_entries').select('line').execute()
      const changing = changeTables(database, EVIDENCE, { plan, signal: stop.signal })
      const started = performance.now()
      while (performance.now() - started < 1500) {
        const before = performance.now()
        await database.read.selectFrom('evidence_entries').select('line').execute()
        expect(performance.now() - before).toBeLessThan(1000)
      }
      stop.abort()
      expect(await changing).toBe(false)
    })
    expect(await isChanged()).toBe(false)
    expect(await changeTables(database, EVIDENCE, { plan: async () => [] })).toBe(true)
    expect(await changeTables(database, EVIDENCE, { plan })).toBe(true)
    expect(await isChanged()).toBe(true)
  })
})
