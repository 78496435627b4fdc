import { sql } from 'kysely'
import type { Database } from '../database.ts'
import { RESERVE_TABLES } from '../room/postgres-reserve.ts'

/** A database as its own catalogue describes it; a transaction of one counts as well. */
export type Side = Pick<Database, 'engine' | 'read'>

export interface Column {
  readonly table: string
  readonly name: string
  readonly type: string
  /** Place in the primary key, from 1; 0 for the others. PostgreSQL says 0 always. */
  readonly pk: number
}

/** Partitions are parts of their table, and the reserve holds no rows. */
const NOT_PARTITION = sql`table_name not in (${sql.join(RESERVE_TABLES)}) and table_name not in (select relname from pg_class
  where relispartition and relnamespace = current_schema()::regnamespace)`

/** Names of everything in it that holds rows, views included. */
export async function listTables({ engine, read }: Side): Promise<readonly string[]> {
  const { rows } = await (
    engine === 'sqlite'
      ? sql<{ name: string }>`
        select name from sqlite_master where type in ('table', 'view') and name not like 'sqlite%' order by name`
      : sql<{ name: string }>`
        select table_name as name from information_schema.tables
        where table_schema = current_schema() and ${NOT_PARTITION} order by table_name`
  ).execute(read)
  return rows.map(({ name }) => name)
}

export async function listColumns({ engine, read }: Side): Promise<readonly Column[]> {
  const { rows } = await (
    engine === 'sqlite'
      ? sql<Column>`
        select t.name as "table", c.name as name, c.type as type, c.pk as pk
        from sqlite_master t join pragma_table_info(t.name) c where t.type = 'table' order by t.name, c.cid`
      : sql<Column>`
        select table_name as "table", column_name as name, data_type as type, 0 as pk from information_schema.columns
        where table_schema = current_schema() and ${NOT_PARTITION} order by table_name, ordinal_position`
  ).execute(read)
  return rows
}
