import { silentLog } from '@chancery/service-kit'
import { ManualClock, createMigratedDatabase, currentBackend } from '@chancery/testkit'
import type { TestDatabase } from '@chancery/testkit'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import type { Database } from '../database/database.ts'
import { AUDIT, AUDIT_TABLES, readRoomEnd } from '../database/partitions/audit-partitions.ts'
import { makeRoom, openRoom, readBound, readLayout } from '../database/partitions/layout.ts'
import { useOpenedDatabases } from '../database/partitions/opened-databases.suite.ts'
import { partitionTables } from '../database/partitions/keep-partitions.ts'
import { countTables } from '../database/sizes/measure-tables.ts'
import { rowsOf } from '../testing/rows.suite.ts'
import {
  addEarlierEvents,
  addEvents,
  eventRows,
  partitionsOf,
  positionsIn,
  useAuditPartitionsOf,
} from './audit-partitions.suite.ts'
import { BEGINNING, exportAudit } from './export.ts'
import { INSERT_AUDIT_EVENTS, listEventsOf } from './insert.ts'
import { keepAuditPartitions } from './index-subjects.job.ts'
import { assignSequences } from './sequence.ts'

const isPostgres = currentBackend() === 'postgres'
const SIZE = 100
/** The migration takes the first position. */
const FIRST = 2

const { atEnd, open, openNew } = useOpenedDatabases()

/** A store with this many events of before 0.2.0. */
async function openEarlier(events: number): Promise<{ readonly database: Database; readonly place: TestDatabase }> {
  const place = await createMigratedDatabase()
  atEnd(() => place.drop())
  const database = await open(place)
  await addEarlierEvents(database, events)
  return { database, place }
}

const keep = (database: Database, set = AUDIT): Promise<void> =>
  keepAuditPartitions(
    { database, clock: new ManualClock(), instance: 'i', log: silentLog },
    new AbortController().signal,
    set,
  )

async function readAll(database: Database): Promise<readonly unknown[]> {
  const db = database.read
  return [
    await db.selectFrom('audit_events').selectAll().orderBy('event_id').execute(),
    await db.selectFrom('audit_numbers').selectAll().orderBy('sequence').execute(),
    await db.selectFrom('audit_subjects').selectAll().orderBy('subject').orderBy('event_id').execute(),
  ]
}

describe('a store with events of before 0.2.0', () => {
  it.runIf(isPostgres)('is partitioned with the same rows, indexes and rights', async () => {
    const { database } = await openEarlier(120)
    await addEvents(database, 120)
    await sql`grant select on audit_events to public`.execute(rowsOf(database))
    const indexes = async (table: string): Promise<readonly unknown[]> =>
      (
        await sql`select indexrelid, indisvalid from pg_index where indrelid = ${table}::regclass order by 1`.execute(
          database.read,
        )
      ).rows
    const before = [await readAll(database), await indexes('audit_events')]
    expect(await partitionTables(database, AUDIT, { size: SIZE })).toBe(true)
    // 121 positions are in use, and half a partition stays free.
    expect(await partitionsOf(database)).toEqual(['0 < 200'])
    // None was built for the partitioned table.
    expect([await readAll(database), await indexes('audit_events_0')]).toEqual(before)
    expect(await readBound(database.read, AUDIT)).toBeUndefined()
    const { rows } = await sql<{ may: boolean }>`select exists (select 1 from pg_class c, aclexplode(c.relacl) a
      where c.oid = 'audit_events'::regclass and a.grantee = 0 and a.privilege_type = 'SELECT') as may`.execute(
      database.read,
    )
    expect(rows[0]?.may).toBe(true)
    await addEvents(database, 1)
    expect((await countTables(database)).get('audit_events')).toBe(241)
  })

  it.runIf(isPostgres)('is partitioned through connections of a pooler', async () => {
    const { place } = await openEarlier(10)
    const database = await open(place, 'transaction')
    expect(await partitionTables(database, AUDIT, { size: SIZE })).toBe(true)
    expect(await partitionsOf(database)).toEqual(['0 < 100'])
  })

  it.runIf(isPostgres)('is partitioned while events are inserted and numbered, and all are found', async () => {
    const { database, place } = await openEarlier(500)
    const writers = await Promise.all([open(place), open(place)])
    let isOver = false
    const acknowledged: string[] = []
    const write = async (writer: Database): Promise<void> => {
      while (!isOver) {
        acknowledged.push(...(await addEvents(writer, 3)).map(({ event_id }) => event_id))
        await assignSequences(writer)
      }
    }
    const writing = Promise.all(writers.map(write))
    expect(await partitionTables(database, AUDIT, { size: 100_000 })).toBe(true)
    isOver = true
    await writing
    await assignSequences(database)
    for (const table of AUDIT_TABLES) {
      const stored = await positionsIn(database, table)
      expect(acknowledged.filter((id) => !stored.has(id))).toEqual([])
    }
    const counts = await countTables(database)
    const events = 500 + acknowledged.length
    expect(AUDIT_TABLES.map((table) => counts.get(table))).toEqual([events, events, 2 * events])
  })

  it.runIf(isPostgres).each([
    ['before the first step', 0, 0],
    ['after the constraints were added', 3, 0],
    ['after one of them was checked', 3, 1],
    ['after all were checked', 3, 3],
  ])('is partitioned by the next runs when one stopped %s, also by two at once', async (_, bounded, checked) => {
    const { database, place } = await openEarlier(10)
    const run = (text: string): Promise<unknown> => sql.raw(text).execute(rowsOf(database))
    for (const [at, table] of AUDIT_TABLES.entries()) {
      const name = `${table}_below_100`
      if (at < bounded)
        await run(`alter table ${table} add constraint ${name} check (position >= 0 and position < 100) not valid`)
      if (at < checked) await run(`alter table ${table} validate constraint ${name}`)
    }
    const other = await open(place)
    const both = [database, other].map((each) => partitionTables(each, AUDIT, { size: SIZE }))
    expect(await Promise.all(both)).toEqual([true, true])
    expect(await partitionsOf(database)).toEqual(['0 < 100'])
  })

  it.runIf(isPostgres)('takes events beyond a bound that no run has used', async () => {
    const { database, place } = await openEarlier(10)
    const stop = new AbortController()
    await database.write(async (tx) => {
      await tx.query.selectFrom('audit_events').select('event_id').execute()
      // Stops at the first lock.
      setTimeout(() => stop.abort(), 300)
      const other = await open(place)
      expect(await partitionTables(other, AUDIT, { size: SIZE, signal: stop.signal })).toBe(false)
    })
    expect(await readBound(database.read, AUDIT)).toBeUndefined()
    for (const table of AUDIT_TABLES)
      await sql
        .raw(
          `alter table ${table} add constraint ${table}_below_100 check (position >= 0 and position < 100) not valid`,
        )
        .execute(rowsOf(database))
    await sql`create or replace function audit_within_room(bigint) returns bigint language sql volatile
      as 'select least($1, 99::bigint)'`.execute(rowsOf(database))
    for (let batch = 0; batch < 15; batch += 1) await addEvents(database, 10)
    expect((await countTables(database)).get('audit_events')).toBe(160)
    expect(await partitionTables(database, AUDIT, { size: SIZE })).toBe(true)
    expect(await partitionsOf(database)).toEqual(['0 < 300'])
  })

  it.runIf(isPostgres)('waits until old events have their subjects', async () => {
    const { database } = await openEarlier(10)
    const moment = { name: 'audit subjects before', at: 'x y' }
    await rowsOf(database).insertInto('moments').values(moment).execute()
    await sql`analyze audit_events`.execute(rowsOf(database))
    const any = { ...AUDIT, partitionedFrom: 1 }
    await keep(database, any)
    expect(await readLayout(database.read, AUDIT)).toBeUndefined()
    await rowsOf(database).deleteFrom('moments').where('name', '=', moment.name).execute()
    await keep(database, any)
    expect(await readLayout(database.read, AUDIT)).toBeDefined()
  })
})

describe('the end of a partition', () => {
  it.runIf(isPostgres)('stops no insert: rows without a partition go to the last one', async () => {
    const database = await openNew()
    await useAuditPartitionsOf(database, SIZE)
    for (let batch = 0; batch < 25; batch += 1) await addEvents(database, 10)
    await assignSequences(database)
    expect(await partitionsOf(database)).toEqual(['0 < 100'])
    expect((await countTables(database)).get('audit_numbers')).toBe(250)
    expect(Math.max(...(await positionsIn(database, 'audit_events')).values())).toBe(99)
    await keep(database)
    expect(await partitionsOf(database)).toEqual(['0 < 100', '200 < 300', '300 < 400'])
    const later = await addEvents(database, 10)
    const positions = await positionsIn(database, 'audit_events')
    expect(later.map(({ event_id }) => positions.get(event_id))).toEqual(later.map((_, at) => 252 + at))
  })

  it.runIf(isPostgres)('is crossed by transactions at once, on several connections', async () => {
    const place = await createMigratedDatabase()
    atEnd(() => place.drop())
    const databases = await Promise.all([open(place), open(place), open(place)])
    const [database] = databases
    if (database === undefined) throw new Error('no database')
    await useAuditPartitionsOf(database, SIZE)
    await database.write((tx) => makeRoom(tx, AUDIT, { from: FIRST, through: 699 }))
    await database.write((tx) => openRoom(tx, AUDIT))
    let isOver = false
    const keeping = (async () => {
      while (!isOver) await keep(database)
    })()
    const acknowledged: string[] = []
    await Promise.all(
      databases.flatMap((each) =>
        Array.from({ length: 3 }, async () => {
          for (let count = 0; count < 20; count += 1) {
            const rows = eventRows(7)
            await each.write(async (tx) => {
              await tx.run(INSERT_AUDIT_EVENTS, rows.slice(0, 4))
              await tx.run(INSERT_AUDIT_EVENTS, rows.slice(4))
            })
            acknowledged.push(...rows.map(({ event_id }) => event_id))
          }
        }),
      ),
    )
    isOver = true
    await keeping
    await assignSequences(database)
    expect(acknowledged).toHaveLength(1260)
    const counts = await countTables(database)
    expect(AUDIT_TABLES.map((table) => counts.get(table))).toEqual([1260, 1260, 2520])
    expect((await partitionsOf(database)).slice(0, 7)).toEqual(
      Array.from({ length: 7 }, (_, at) => `${at * SIZE} < ${(at + 1) * SIZE}`),
    )
    const positions = [...(await positionsIn(database, 'audit_events')).values()]
    // Positions before the end of the room are given once each.
    for (let at = 0; at < 6; at += 1)
      expect(positions.filter((each) => Math.floor(each / SIZE) === at)).toHaveLength(at === 0 ? SIZE - FIRST : SIZE)
    const exported: string[] = []
    for await (const page of exportAudit(database, BEGINNING, 50)) exported.push(...page.map((each) => each.event_id))
    expect(exported.toSorted()).toEqual(acknowledged.toSorted())
    expect(await listEventsOf(database.read, ['node-3'], { before: undefined, limit: 500 })).toHaveLength(126)
  })

  it.runIf(isPostgres)('has the next partition when half of the last one is used, and the planner counts', async () => {
    const database = await openNew()
    await useAuditPartitionsOf(database, SIZE)
    await addEvents(database, 40)
    await keep(database)
    expect(await partitionsOf(database)).toEqual(['0 < 100'])
    await addEvents(database, 20)
    await keep(database)
    expect(await partitionsOf(database)).toEqual(['0 < 100', '100 < 200'])
    expect(await readRoomEnd(database.read)).toBe(200)
    const { rows } = await sql<{ counted: number }>`select count(distinct tablename) as counted from pg_stats
      where tablename in ('audit_events', 'audit_subjects') and inherited`.execute(database.read)
    expect(rows[0]?.counted).toBe(2)
  })
})
