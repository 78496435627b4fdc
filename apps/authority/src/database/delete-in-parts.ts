import { type RawBuilder, sql } from 'kysely'
import type { Database } from './database.ts'
import type { Tables } from './tables.ts'

/** Rows of one statement: few enough that its locks end at once. */
const AT_ONCE = 5000

/** Deletes the rows that fit in statements of bounded size, until none is left or the job is stopped. */
export async function deleteInParts(
  database: Pick<Database, 'engine' | 'write'>,
  table: Exclude<keyof Tables, 'audit_subjects'>,
  isOver: RawBuilder<unknown>,
  signal: AbortSignal,
  atOnce: number = AT_ONCE,
): Promise<void> {
  // The place of a row: every table has one, whatever its key. The second condition is for a row changed meanwhile.
  const place = sql.raw(database.engine === 'postgres' ? 'ctid' : 'rowid')
  const name = sql.table(table)
  for (let deleted = atOnce; deleted === atOnce && !signal.aborted;)
    deleted = await database.write(async ({ query }) => {
      const { numAffectedRows } = await sql`delete from ${name}
        where ${place} in (select ${place} from ${name} where ${isOver} limit ${atOnce}) and ${isOver}`.execute(query)
      return Number(numAffectedRows ?? 0)
    })
}
