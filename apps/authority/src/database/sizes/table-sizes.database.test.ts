import { DAY, HOUR, type Instant, writeSortable } from '@chancery/protocol'
import { ManualClock, type TestDatabase, createMigratedDatabase } from '@chancery/testkit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { rowsOf } from '../../testing/rows.suite.ts'
import type { Database } from '../database.ts'
import { locationOf } from '../database.suite.ts'
import { openDatabase } from '../open.ts'
import {
  TABLE_NAMES,
  countPast,
  countTables,
  measureBytes,
  mostRows,
  readGrowth,
  sampleRows,
} from './measure-tables.ts'
import { TABLE_ENDS, type TableName } from './table-ends.ts'

const SETTINGS = { auditKeptDays: 0, certificateKeptDays: 400 }

/** Without an authority, whose jobs would run meanwhile. */
let testDatabase: TestDatabase
let database: Database
let clock: ManualClock
beforeEach(async () => {
  clock = new ManualClock()
  testDatabase = await createMigratedDatabase()
  database = openDatabase(locationOf(testDatabase))
})
afterEach(async () => {
  await database.close()
  await testDatabase.drop()
})

const ago = (time: Instant): string => writeSortable(clock.now() - time)
const past = (table: TableName, settings = SETTINGS, slack = 0n): Promise<number> =>
  countPast(database.read, table, settings, { now: clock.now(), slack })

async function addNonces(count: number, expires_at: string, first = 0): Promise<void> {
  const values = Array.from({ length: count }, (_, at) => ({ claim: new Uint8Array([first, at >> 8, at]), expires_at }))
  await rowsOf(database).insertInto('nonces').values(values).execute()
}

interface Ended {
  readonly cert_id: string
  readonly days: bigint
  readonly reason?: string
}

async function addCertificate({ cert_id, days, reason }: Ended): Promise<void> {
  const row = {
    cert_id,
    node_public_key: cert_id,
    cert_json: '{}',
    roles_json: '[]',
    issued_at: ago((days + 7n) * DAY),
    expires_at: ago(days * DAY),
    max_validity_hours: 168,
    status: reason === undefined ? 'issued' : 'revoked',
    ...(reason === undefined ? {} : { revoked_at: ago(days * DAY), revocation_reason: reason }),
  }
  await rowsOf(database).insertInto('issued_certs').values(row).execute()
}

async function addEvent(event_id: string, event_type: string, days: bigint): Promise<void> {
  const row = { event_id, event_type, event_json: '{}', created_at: ago(days * DAY) }
  await rowsOf(database).insertInto('audit_events').values(row).execute()
}

describe('the size of tables', () => {
  it('is counted for every table, and its bytes grow with its rows', async () => {
    const before = await measureBytes(database)
    await addNonces(1500, ago(0n))
    const counts = await countTables(database)
    expect([...counts.keys()]).toEqual(TABLE_NAMES)
    expect(counts.get('nonces')).toBe(1500)
    expect(counts.get('evidence_head')).toBe(1)
    const after = await measureBytes(database)
    // 16 bytes of claim and 27 of time, in the table and in its indexes.
    expect((after.get('nonces') ?? 0) - (before.get('nonces') ?? 0)).toBeGreaterThan(1500 * 43)
    for (const table of TABLE_NAMES) expect(after.get(table), table).toBeTypeOf('number')
  })

  it('has a bound that may follow from another table', () => {
    const counts = new Map<TableName, number>([['agent_registrations', 3]])
    expect(mostRows(TABLE_ENDS.agent_capabilities, counts)).toBe(192)
    expect(mostRows(TABLE_ENDS.nonces, counts)).toBe(1_000_000)
    expect(mostRows(TABLE_ENDS.issued_certs, counts)).toBeUndefined()
  })
})

describe('rows past their end', () => {
  it('are none in a new database, in any table', async () => {
    for (const table of TABLE_NAMES) expect(await past(table, { ...SETTINGS, auditKeptDays: 366 }), table).toBe(0)
  })

  it('are counted with the slack', async () => {
    await addNonces(3, ago(2n * HOUR))
    await addNonces(2, ago(0n), 1)
    expect(await past('nonces')).toBe(3)
    expect(await past('nonces', SETTINGS, 2n * HOUR)).toBe(0)
  })

  it('are not the certificates that stay', async () => {
    await addCertificate({ cert_id: 'recent', days: 399n })
    await addCertificate({ cert_id: 'stolen', days: 500n, reason: 'key_compromise' })
    expect(await past('issued_certs')).toBe(0)
    await addCertificate({ cert_id: 'old', days: 401n })
    await addCertificate({ cert_id: 'left', days: 401n, reason: 'cessation' })
    expect(await past('issued_certs')).toBe(2)
    expect(await past('issued_certs', { ...SETTINGS, certificateKeptDays: 0 })).toBe(0)
  })

  it('are audit events only with a setting, and never those that are state', async () => {
    await addEvent('a', 'node_joined', 500n)
    await addEvent('b', 'state_recovered', 500n)
    await addEvent('c', 'node_joined', 300n)
    expect(await past('audit_events')).toBe(0)
    expect(await past('audit_events', { ...SETTINGS, auditKeptDays: 366 })).toBe(1)
  })

  it('are not the newest list', async () => {
    const list = { crl_json: '{}', issued_at: ago(9n * DAY), entries: 0 }
    const rows = rowsOf(database)
    await rows.deleteFrom('crl_versions').execute()
    await rows
      .insertInto('crl_versions')
      .values([
        { ...list, sequence: 1, next_update: ago(9n * DAY) },
        { ...list, sequence: 2, next_update: ago(8n * DAY) },
      ])
      .execute()
    expect(await past('crl_versions')).toBe(1)
  })
})

describe('the job table-rows', () => {
  it('stores one sample a day, from which the growth per day follows', async () => {
    await sampleRows({ database, clock, instance: 'i' })
    await addNonces(700, ago(0n))
    await sampleRows({ database, clock, instance: 'i' })
    const stored = (): Promise<readonly { readonly day: string; readonly row_count: number }[]> =>
      database.read
        .selectFrom('table_rows')
        .select(['day', 'row_count'])
        .where('table_name', '=', 'nonces')
        .orderBy('day')
        .execute()
    expect((await stored()).map(({ row_count }) => row_count)).toEqual([0])
    clock.advance(2 * 86_400)
    const counts = await countTables(database)
    const days = Number(clock.now() % DAY) / Number(DAY) + 2
    expect((await readGrowth(database.read, counts, clock.now())).get('nonces')).toBeCloseTo(700 / days, 6)
  })

  it('removes samples after 32 days, and those of a clock that was ahead', async () => {
    const rows = rowsOf(database)
    const day = (time: Instant): string => writeSortable(clock.now() - (clock.now() % DAY) + time)
    await rows
      .insertInto('table_rows')
      .values(
        [-33n * DAY, -32n * DAY, -1n * DAY, 5n * DAY].map((time) => ({
          table_name: 'nonces',
          day: day(time),
          row_count: 1,
        })),
      )
      .execute()
    await rows.deleteFrom('table_rows').where('day', '=', day(0n)).execute()
    await sampleRows({ database, clock, instance: 'i' })
    const left = await rows
      .selectFrom('table_rows')
      .select('day')
      .where('table_name', '=', 'nonces')
      .orderBy('day')
      .execute()
    expect(left.map((row) => row.day)).toEqual([day(-32n * DAY), day(-1n * DAY), day(0n)])
  })
})
