import { setTimeout as pause } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../database.ts'
import { lockMigrations } from '../locks/migration.ts'
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

/** A table that exists during a copy. While it exists, no process may use the database. */
const MARKER = 'unfinished_copy'

/** The database is the target of a copy that was not brought to its end: part of it is missing. */
export class UnfinishedCopyError extends Error {
  override readonly name = 'UnfinishedCopyError'
  constructor() {
    super('DATABASE_URL: a copy into this database was not finished: repeat its migrate-db or restore with --restart')
  }
}

/** Instances are connected to the database: what they write would get between the rows. */
export class TargetInUseError extends Error {
  override readonly name = 'TargetInUseError'
}

/** The database to copy into holds something already. */
export class TargetOccupiedError extends Error {
  override readonly name = 'TargetOccupiedError'
}

/** Checked before a database is used. Only PostgreSQL is ever a target of a copy. */
export async function isCopyUnfinished(database: Database, reader: Reader = database.read): Promise<boolean> {
  if (database.engine !== 'postgres') return false
  const { rows } = await sql<{ found: boolean }>`select to_regclass(${MARKER}) is not null as found`.execute(reader)
  return rows[0]?.found === true
}

/**
 * Locks an empty database for a copy with the marker. The rest of an interrupted copy is removed only on the operator's
 * request, and only when nothing else is there.
 */
export async function beginCopy(
  target: Database,
  facts: { readonly token: string; readonly startedAt: string; readonly tables: readonly string[] },
  restart: boolean,
): Promise<void> {
  await target.write(async (tx) => {
    await lockMigrations(target, tx)
    const found = await listTables({ engine: target.engine, read: tx.query })
    if (found.includes(MARKER)) {
      if (!restart) throw new UnfinishedCopyError()
      await clearAway(tx, found, new Set([...facts.tables, MARKER]))
    } else if (found.length > 0) throw new TargetOccupiedError(`it holds the table ${found[0]}`)
    await refuseOthers(tx)
    await sql`create table ${sql.table(MARKER)} (token text not null, started_at text not null)`.execute(tx.query)
    await sql`insert into ${sql.table(MARKER)} values (${facts.token}, ${facts.startedAt})`.execute(tx.query)
  })
}

/** Gives the database free. Throws when another copy has taken it over meanwhile. */
export async function finishCopy(target: Database, token: string): Promise<void> {
  await target.write(async (tx) => {
    await lockMigrations(target, tx)
    if (!(await isCopyUnfinished(target, tx.query))) throw new TargetOccupiedError('another copy took it over')
    const { rows } = await sql<{ token: string }>`select token from ${sql.table(MARKER)}`.execute(tx.query)
    if (rows[0]?.token !== token) throw new TargetOccupiedError('another copy took it over')
    await sql`drop table ${sql.table(MARKER)}`.execute(tx.query)
  })
}

const LEAVING_MS = 3000

/**
 * Instances that run are not stopped by the marker, which is looked for at the start. Their jobs would write into tables
 * that are half filled. One that has just ended may take a moment to leave.
 */
async function refuseOthers(tx: Transaction): Promise<void> {
  const end = performance.now() + LEAVING_MS
  for (;;) {
    const { rows } = await sql<{ others: number }>`
      select count(*) as others from pg_stat_activity where datname = current_database()
      and application_name = current_setting('application_name') and pid <> pg_backend_pid()`.execute(tx.query)
    if (Number(rows[0]?.others ?? 0) === 0) return
    if (performance.now() > end) throw new TargetInUseError('instances are connected to it')
    await pause(100)
    // What a transaction has once seen of the sessions it would see again.
    await sql`select pg_stat_clear_snapshot()`.execute(tx.query)
  }
}

async function clearAway(tx: Transaction, found: readonly string[], ours: ReadonlySet<string>): Promise<void> {
  const stranger = found.find((name) => !ours.has(name))
  if (stranger !== undefined) throw new TargetOccupiedError(`it holds the table ${stranger}, which no copy made`)
  for (const name of found) await sql`drop table ${sql.table(name)}`.execute(tx.query)
  // Triggers and defaults went with their tables; what they called stays.
  await sql`drop function if exists evidence_entries_guard()`.execute(tx.query)
  await sql`drop function if exists evidence_entries_unique()`.execute(tx.query)
  await sql`drop function if exists issued_certs_counted()`.execute(tx.query)
  await sql`drop function if exists node_liveness_counted()`.execute(tx.query)
  await sql`drop function if exists audit_within_room(bigint)`.execute(tx.query)
  await sql`drop function if exists audit_partition_events()`.execute(tx.query)
  await sql`drop sequence if exists audit_positions`.execute(tx.query)
}
