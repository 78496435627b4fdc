import { silentLog } from '@chancery/service-kit'
import { ManualClock, currentBackend } from '@chancery/testkit'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'
import type { Database } from '../database.ts'
import { AUDIT, estimateRows } from './audit-partitions.ts'
import { EVIDENCE, EntryRoom } from './evidence-partitions.ts'
import { entryRow } from './evidence-partitions.suite.ts'
import { keepPartitions } from './keep-partitions.ts'
import { readLayout } from './layout.ts'
import { useOpenedDatabases } from './opened-databases.suite.ts'

const isPostgres = currentBackend() === 'postgres'
const LIMIT = 100
const SMALL = { ...EVIDENCE, partitionedFrom: LIMIT, newSize: 1000 }

const { openNew } = useOpenedDatabases()

async function addEntries(database: Database, from: number, through: number): Promise<void> {
  const rows = Array.from({ length: through - from + 1 }, (_, at) => entryRow(from + at))
  await database.write((tx) => new EntryRoom(database).ensure(tx, through, from))
  await rowsOf(database).insertInto('evidence_entries').values(rows).execute()
  await rowsOf(database).updateTable('evidence_head').set({ last_sequence: through }).execute()
}

async function keep(database: Database, set = SMALL): Promise<readonly string[] | undefined> {
  const parts = { database, clock: new ManualClock(), instance: 'i', log: silentLog }
  await keepPartitions(parts, set, new AbortController().signal)
  if (database.engine === 'sqlite') return undefined
  return (await readLayout(database.read, set))?.partitions.map(({ name, to }) => `${name} < ${to}`)
}

describe('the job evidence-partitions', () => {
  it('keeps one table below the limit, and partitions it from there on', async () => {
    const database = await openNew()
    expect(await keep(database)).toBeUndefined()
    await addEntries(database, 1, LIMIT - 1)
    expect(await keep(database)).toBeUndefined()
    await addEntries(database, LIMIT, LIMIT)
    expect(await keep(database)).toEqual(isPostgres ? ['evidence_entries_0 < 1000'] : undefined)
    await addEntries(database, LIMIT + 1, 1500)
    const rows = await database.read.selectFrom('evidence_entries').select('store_sequence').execute()
    expect(rows).toHaveLength(1500)
  })

  it.runIf(isPostgres)('does not count removed entries', async () => {
    const database = await openNew()
    await addEntries(database, 201, 250)
    await rowsOf(database).updateTable('evidence_head').set({ removed_through: 200 }).execute()
    expect(await keep(database)).toBeUndefined()
    await rowsOf(database)
      .updateTable('evidence_head')
      .set({ removed_through: 250 - LIMIT })
      .execute()
    expect(await keep(database)).toEqual(['evidence_entries_0 < 1000'])
  })

  it.runIf(isPostgres)('completes a change that was begun, also below the limit', async () => {
    const database = await openNew()
    await addEntries(database, 1, 3)
    await sql`alter table evidence_entries add constraint evidence_entries_below_1000 check (store_sequence < 1000) not valid`.execute(
      rowsOf(database),
    )
    expect(await keep(database)).toEqual(['evidence_entries_0 < 1000'])
  })

  it.runIf(isPostgres)('leaves the partitions of a small store that has them', async () => {
    const database = await openNew()
    expect(await keep(database, { ...SMALL, partitionedFrom: 0 })).toEqual(['evidence_entries_0 < 1000'])
    await addEntries(database, 1, 3)
    expect(await keep(database)).toEqual(['evidence_entries_0 < 1000'])
    await addEntries(database, 4, 501)
    expect(await keep(database)).toEqual(['evidence_entries_0 < 1000', 'evidence_entries_1000 < 2000'])
  })

  it('begins at the same limit for both kinds of rows', () => {
    expect([EVIDENCE.partitionedFrom, AUDIT.partitionedFrom]).toEqual([1_000_000, 1_000_000])
  })
})

describe('an estimate of rows', () => {
  it.runIf(isPostgres)('follows the size of the table, and is unknown until the server has counted', async () => {
    const database = await openNew()
    const rows = rowsOf(database)
    // A table that autovacuum leaves alone.
    await sql`create table counted (line text) with (autovacuum_enabled = off)`.execute(rows)
    const add = (): Promise<unknown> =>
      sql`insert into counted select repeat('x', 100) from generate_series(1, 20000)`.execute(rows)
    expect(await estimateRows(database.read, 'counted')).toBe(0)
    await add()
    expect(await estimateRows(database.read, 'counted')).toBeUndefined()
    await sql`analyze counted`.execute(rows)
    expect(await estimateRows(database.read, 'counted')).toBe(20_000)
    await add()
    const estimate = await estimateRows(database.read, 'counted')
    expect(estimate).toBeGreaterThan(39_000)
    expect(estimate).toBeLessThan(41_000)
  })
})
