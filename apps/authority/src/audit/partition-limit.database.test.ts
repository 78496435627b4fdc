import { silentLog } from '@chancery/service-kit'
import { ManualClock, currentBackend } from '@chancery/testkit'
import { describe, expect, it } from 'vitest'
import type { Database } from '../database/database.ts'
import { AUDIT, readRoomEnd } from '../database/partitions/audit-partitions.ts'
import { readLayout } from '../database/partitions/layout.ts'
import { useOpenedDatabases } from '../database/partitions/opened-databases.suite.ts'
import { countTables } from '../database/sizes/measure-tables.ts'
import { addEarlierEvents, addEvents, partitionsOf, positionsIn } from './audit-partitions.suite.ts'
import { keepAuditPartitions } from './index-subjects.job.ts'

const isPostgres = currentBackend() === 'postgres'
/** Rows from which the job partitions. */
const LIMIT = 100

const { openNew } = useOpenedDatabases()

/** The first run lets the server count. */
async function keepTwice(database: Database, set = AUDIT): Promise<void> {
  const parts = { database, clock: new ManualClock(), instance: 'i', log: silentLog }
  for (let run = 0; run < 2; run += 1) await keepAuditPartitions(parts, new AbortController().signal, set)
}

describe('the job audit-partitions', () => {
  it.runIf(isPostgres)('keeps plain tables below the limit, and partitions them from there on', async () => {
    const database = await openNew()
    const small = { ...AUDIT, partitionedFrom: LIMIT, newSize: 10_000 }
    const [event] = await addEvents(database, LIMIT - 1)
    await keepTwice(database, small)
    expect(await readLayout(database.read, AUDIT)).toBeUndefined()
    // The migration takes the first position.
    expect((await positionsIn(database, 'audit_events')).get(event?.event_id ?? '')).toBe(2)
    // The number of rows is an estimate.
    await addEvents(database, LIMIT)
    await keepTwice(database, small)
    expect(await partitionsOf(database)).toEqual(['0 < 10000'])
    expect(await readRoomEnd(database.read)).toBe(10_000)
    await addEvents(database, 1)
    expect((await countTables(database)).get('audit_events')).toBe(2 * LIMIT)
  })

  it.runIf(isPostgres)('counts events of before 0.2.0, which have no positions', async () => {
    const database = await openNew()
    await addEarlierEvents(database, 2 * LIMIT)
    await keepTwice(database)
    expect(await readLayout(database.read, AUDIT)).toBeUndefined()
    await keepTwice(database, { ...AUDIT, partitionedFrom: LIMIT })
    expect(await partitionsOf(database)).toEqual(['0 < 10000000'])
    expect((await countTables(database)).get('audit_events')).toBe(2 * LIMIT)
  })
})
