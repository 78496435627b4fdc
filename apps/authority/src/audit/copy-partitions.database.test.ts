import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog } from '@chancery/service-kit'
import { ManualClock, currentBackend } from '@chancery/testkit'
import { sql } from 'kysely'
import { describe, expect, it } from 'vitest'
import { listColumns, listTables } from '../database/copy/unfinished-copy.ts'
import { compareRows, copyRows, describeTables } from '../database/copy/copy-rows.ts'
import { snapshotInto } from '../database/copy/snapshot.ts'
import { migrate } from '../database/migrate.ts'
import { openDatabase } from '../database/open.ts'
import { AUDIT, AUDIT_TABLES } from '../database/partitions/audit-partitions.ts'
import { countTables, measureBytes } from '../database/sizes/measure-tables.ts'
import { addEvents, partitionsOf, positionsIn, useAuditPartitionsOf } from './audit-partitions.suite.ts'
import { keepAuditPartitions } from './index-subjects.job.ts'
import { assignSequences } from './sequence.ts'
import { useOpenedDatabases } from '../database/partitions/opened-databases.suite.ts'

const isPostgres = currentBackend() === 'postgres'
const SIZE = 100
/** The migration takes the first position. */
const FIRST = 2

const { atEnd, openNew } = useOpenedDatabases()

describe('a new store', () => {
  it('has one table for events, numbers and subjects each, which are counted whole', async () => {
    const database = await openNew()
    const tables = await listTables(database)
    expect(tables.filter((name) => AUDIT_TABLES.some((table) => name.startsWith(table)))).toEqual([...AUDIT_TABLES])
    const columns = (await listColumns(database)).filter(({ table }) => table === 'audit_subjects')
    expect(columns.map(({ name }) => name)).toEqual(
      isPostgres ? ['subject', 'created_at', 'event_id', 'position'] : ['subject', 'created_at', 'event_id'],
    )
    await addEvents(database, 3)
    const [counts, bytes] = [await countTables(database), await measureBytes(database)]
    expect([counts.get('audit_events'), counts.get('audit_subjects')]).toEqual([3, 6])
    for (const table of AUDIT_TABLES) expect(bytes.get(table), table).toBeGreaterThanOrEqual(4096)
  })
})

describe('a copy of audit events', () => {
  async function newFile(): Promise<string> {
    const folder = await mkdtemp(join(tmpdir(), 'chancery-audit-'))
    atEnd(() => rm(folder, { recursive: true }))
    return join(folder, 'copy.db')
  }

  it.runIf(isPostgres)('has the events of all partitions, and no partition goes while it is made', async () => {
    const database = await openNew()
    await useAuditPartitionsOf(database, SIZE)
    await addEvents(database, 60)
    const parts = { database, clock: new ManualClock(), instance: 'i', log: silentLog }
    await keepAuditPartitions(parts, new AbortController().signal)
    await addEvents(database, 60)
    await assignSequences(database)
    const path = await newFile()
    const locked = new Map<string, Promise<boolean>>()
    const isLocked = async (): Promise<boolean> => {
      const { rows } = await sql<{ found: number }>`select count(*) as found from pg_locks
        where relation in ('audit_events_0'::regclass, 'audit_numbers_100'::regclass, 'audit_subjects_100'::regclass)
        and mode = 'AccessShareLock' and granted`.execute(database.read)
      return rows[0]?.found === 3
    }
    await snapshotInto(
      database,
      path,
      () => 0n,
      ({ table }) => void locked.set(table, isLocked()),
    )
    // A table that is copied before the numbers.
    expect(await locked.get('audit_events')).toBe(true)
    const copy = openDatabase({ kind: 'sqlite', path })
    atEnd(() => copy.close())
    const counts = await countTables(copy)
    expect(AUDIT_TABLES.map((table) => counts.get(table))).toEqual([120, 120, 240])
  })

  it.runIf(isPostgres)('of a file goes to one table of each, which the job partitions later', async () => {
    const path = await newFile()
    const source = openDatabase({ kind: 'sqlite', path })
    atEnd(() => source.close())
    await migrate(source, () => 0n)
    for (let batch = 0; batch < 25; batch += 1) await addEvents(source, 10)
    const target = await openNew()
    for (const table of await describeTables(source, target)) {
      if (!AUDIT_TABLES.some((name) => name === table.name)) continue
      await copyRows(source, target, table, () => undefined)
      expect(await compareRows(source, target.read, table, () => undefined)).toEqual([])
    }
    expect(await partitionsOf(target)).toEqual([])
    const large = { ...AUDIT, partitionedFrom: 250, newSize: SIZE }
    const parts = { database: target, clock: new ManualClock(), instance: 'i', log: silentLog }
    // The first run lets the server count.
    for (let run = 0; run < 2; run += 1) await keepAuditPartitions(parts, new AbortController().signal, large)
    expect(await partitionsOf(target)).toEqual(['0 < 400'])
    const counts = await countTables(target)
    expect(AUDIT_TABLES.map((table) => counts.get(table))).toEqual([250, 250, 500])
    const positions = [...(await positionsIn(target, 'audit_events')).values()]
    expect([Math.min(...positions), Math.max(...positions)]).toEqual([FIRST, FIRST + 249])
  })
})
