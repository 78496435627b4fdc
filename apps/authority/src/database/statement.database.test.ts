import { type TestAuthority, startTestAuthority } from '@chancery/testkit'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { IdStatement } from './statement.ts'
import { rowsOf } from '../testing/rows.suite.ts'
import type { Transaction } from './database.ts'

let na: TestAuthority
beforeAll(async () => {
  na = await startTestAuthority()
})
afterAll(() => na.stop())

const HEADS = new IdStatement<{ readonly id: string; readonly name: string }>(
  'test-heads',
  (ids) => `select t.id, h.name from ${ids} join heads h on h.name = t.id`,
)

describe('IdStatement', () => {
  it('returns a row for each existing id, with and without a prepared plan', async () => {
    const { database } = na.core
    for (const size of [undefined, 1, 1_000_000])
      expect(await HEADS.run(database, rowsOf(database), ['evidence-anchors', 'no such head'], size)).toEqual([
        { id: 'evidence-anchors', name: 'evidence-anchors' },
      ])
    expect(await HEADS.run(database, rowsOf(database), [], 1)).toEqual([])
  })

  it('plans again when the table has doubled, and not before', async (test) => {
    const { database } = na.core
    test.skip(database.engine === 'sqlite', 'SQLite keeps no plans')
    const list = async (tx: Transaction): Promise<string[]> => {
      for (const size of [1000, 1001, 1023, 1024, 5000]) await HEADS.run(database, tx.query, ['evidence-anchors'], size)
      const { rows } = await sql<{ name: string }>`
        select name from pg_prepared_statements where name like 'test-heads%' order by name`.execute(tx.query)
      return rows.map((row) => row.name)
    }
    const names = await database.write(list, { cachedPlans: true })
    expect(names).toEqual(['test-heads-10', 'test-heads-11', 'test-heads-13'])
  })
})
