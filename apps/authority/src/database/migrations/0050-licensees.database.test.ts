import { createTestDatabase } from '@chancery/testkit'
import { sql } from 'kysely'
import { expect, it } from 'vitest'
import { migrate } from '../migrate.ts'
import { openDatabase } from '../open.ts'
import { rowsOf } from '../../testing/rows.suite.ts'

it('puts in force what was active, and nothing that was replaced', async () => {
  const place = await createTestDatabase()
  const { DB_PATH: path, DATABASE_URL: url } = place.settings
  const database = openDatabase(path === undefined ? { kind: 'postgres', url: url ?? '' } : { kind: 'sqlite', path })
  try {
    await migrate(database, () => 0n, { upTo: 49 })
    const insert = (position: number, licensee: string, active: number) =>
      sql`insert into data_license_policies (position, policy_id, policy_json, active, created_at)
        values (${position}, ${`p-${position}`}, ${`{"licensee_sovereign_id":"${licensee}"}`}, ${active}, '2026-01-01T00:00:00.000000Z')`.execute(
        rowsOf(database),
      )
    await insert(1, 'bolt-net', 0)
    await insert(2, 'cedar-net', 1)
    await migrate(database, () => 0n)
    // A release of before goes on serving, and replaces the newest.
    await sql`update data_license_policies set active = 0 where active = 1`.execute(rowsOf(database))
    await insert(3, 'delta-net', 1)
    const rows = await rowsOf(database)
      .selectFrom('data_license_policies')
      .select(['policy_id', 'in_force_for'])
      .orderBy('position')
      .execute()
    expect(rows.map((row) => [row.policy_id, row.in_force_for])).toEqual([
      ['p-1', null],
      ['p-2', 'cedar-net'],
      ['p-3', null],
    ])
  } finally {
    await database.close()
    await place.drop()
  }
})
