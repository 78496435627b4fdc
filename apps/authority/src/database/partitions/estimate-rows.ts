import { sql } from 'kysely'
import type { Reader } from '../database.ts'

/**
 * Estimates the rows of a table of PostgreSQL as its planner does, without reading it: the rows of a page when the server
 * last counted, times the pages of now. Undefined when the server has never counted, for example after a restore.
 */
export async function estimateRows(db: Reader, table: string): Promise<number | undefined> {
  const { rows } = await sql<{ rows: number | null }>`
    select case when pages = 0 then 0 when relpages > 0 and reltuples >= 0 then reltuples / relpages * pages end as rows
    from (select relpages, reltuples::float8 as reltuples,
        pg_relation_size(oid) / current_setting('block_size')::bigint as pages
      from pg_class where oid = ${table}::regclass) as sizes`.execute(db)
  return rows[0]?.rows ?? undefined
}
