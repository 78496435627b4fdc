import { sql } from 'kysely'
import type { Tx } from './database.ts'

type Counted = 'node_liveness' | 'agent_registrations'

/** So many rows are counted in about a millisecond. */
const SMALL_ROWS = 10_000

/** True when a table holds more rows than are counted in no time; reads no more of it than that. */
export async function isLargeTable(db: Tx, table: Counted, small: number = SMALL_ROWS): Promise<boolean> {
  const some = db
    .selectFrom(table)
    .select(sql<number>`1`.as('one'))
    .limit(small + 1)
    .as('some')
  const row = await db
    .selectFrom(some)
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .executeTakeFirst()
  return Number(row?.count ?? 0) > small
}
