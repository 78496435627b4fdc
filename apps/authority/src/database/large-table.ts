import { type SelectQueryBuilder, sql } from 'kysely'
import type { Reader } from './database.ts'
import type { Tables } from './tables.ts'

type TableCount = 'node_liveness' | 'agent_registrations'

/** So many rows are counted in about a millisecond. */
const SMALL_ROWS = 10_000

/** True when a table holds more rows than are counted in no time; reads no more of it than that. */
export async function isLargeTable(db: Reader, table: TableCount, small: number = SMALL_ROWS): Promise<boolean> {
  const some = db.selectFrom(table).select(sql<number>`1`.as('one'))
  return (await countUpTo(db, some, small)) === null
}

/** Counts rows exactly up to the bound, null above: a count over a long history must not hold the database. */
export async function countUpTo<Table extends keyof Tables, Row>(
  db: Reader,
  rows: SelectQueryBuilder<Tables, Table, Row>,
  bound: number,
): Promise<number | null> {
  const { count } = await db
    .selectFrom(rows.limit(bound + 1).as('bounded'))
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirstOrThrow()
  return Number(count) > bound ? null : Number(count)
}
