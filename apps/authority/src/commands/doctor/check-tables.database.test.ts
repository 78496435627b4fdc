import { DAY, writeSortable } from '@chancery/protocol'
import { ManualClock, type TestDatabase, createMigratedDatabase } from '@chancery/testkit'
import type { Finding } from '@chancery/service-kit'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { Database } from '../../database/database.ts'
import { locationOf } from '../../database/database.suite.ts'
import { openDatabase } from '../../database/open.ts'
import { sampleRows } from '../../database/sizes/measure-tables.ts'
import { rowsOf } from '../../testing/rows.suite.ts'
import { checkTables } from './check-tables.ts'

const SETTINGS = { auditKeptDays: 0, certificateKeptDays: 400 }

/** Without an authority, whose jobs would run meanwhile. */
let testDatabase: TestDatabase
let database: Database
let clock: ManualClock
beforeEach(async () => {
  clock = new ManualClock('2030-01-01T00:00:00Z')
  testDatabase = await createMigratedDatabase()
  database = openDatabase(locationOf(testDatabase))
})
afterEach(async () => {
  await database.close()
  await testDatabase.drop()
})

const check = (): Promise<readonly Finding[]> => checkTables(database, SETTINGS, clock.now())
const tables = async (): Promise<readonly Finding[]> => (await check()).filter((one) => one.check === 'table')

async function addNonces(count: number, expires_at: string): Promise<void> {
  const rows = rowsOf(database)
  for (let at = 0; at < count; at += 1000)
    await rows
      .insertInto('nonces')
      .values(
        Array.from({ length: 1000 }, (_, more) => ({
          claim: new Uint8Array([(at + more) >> 16, (at + more) >> 8, at + more]),
          expires_at,
        })),
      )
      .execute()
}

describe('the check of tables', () => {
  it('shows no table of a new network, only their number and size', async () => {
    const findings = await check()
    expect(findings.map((one) => [one.check, one.status])).toEqual([['tables', 'good']])
    expect(findings[0]?.found).toMatch(/^\d\d tables, [\d.]+ [KM]iB$/)
  })

  it('shows rows, size, growth per day and bound of a large table', async () => {
    await sampleRows({ database, clock, instance: 'i' })
    const day = 86_400
    await addNonces(10_000, writeSortable(clock.now() + 5n * DAY))
    expect((await tables()).map((one) => one.found)).toEqual([
      expect.stringMatching(
        /^nonces: 10,000 rows, [\d.]+ [KM]iB, growth not known yet, bound: 10 minutes after its end, 1,000,000 rows$/,
      ),
    ])
    clock.advance(4 * day)
    const [finding] = await tables()
    expect(finding?.status).toBe('good')
    expect(finding?.found).toMatch(/, \+2,500 rows a day \([\d.]+ KiB\), /)
  })

  it('warns of rows that no job removed within two days, and names the job', async () => {
    await addNonces(1000, writeSortable(clock.now()))
    clock.advance(2 * 86_400 + 500)
    expect(await tables()).toEqual([])
    clock.advance(200)
    const [finding] = await tables()
    expect(finding).toMatchObject({ status: 'warn', about: 'nonces' })
    expect(finding?.found).toMatch(/^nonces: 1,000 rows, .*; 1,000 rows are past their end$/)
    expect(finding?.fix).toMatch(/\bpurge-nonces\b/)
  })

  it('warns of a table with more rows than planned', async () => {
    const row = await database.read.selectFrom('evidence_head').selectAll().executeTakeFirstOrThrow()
    await rowsOf(database)
      .insertInto('evidence_head')
      .values({ ...row, id: 2 })
      .execute()
    const found = await tables()
    expect(found.map(({ status, about }) => [status, about])).toEqual([['warn', 'evidence_head']])
    expect(found[0]?.found).toMatch(/^evidence_head: 2 rows, .*, bound: 1 rows$/)
  })
})
