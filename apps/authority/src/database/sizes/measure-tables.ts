import { DAY, type Instant, readInstant, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Database, Reader } from '../database.ts'
import { type KeptDays, TABLE_ENDS, type TableEnd, type TableName } from './table-ends.ts'
import { type LeaseParts, withLease } from '../locks/leases.ts'

/** All tables, in order. */
export const TABLE_NAMES = (Object.keys(TABLE_ENDS) as TableName[]).sort()

/** Above it PostgreSQL and SQLite give an estimate: a count would read the whole table. */
const EXACT_ROWS = 1_000_000
/** Above it the pages of a SQLite file are not counted for each table: it would read the whole file. */
const MAX_COUNTED_BYTES = 4 * 1024 ** 3
/** Rows past their end that are counted. */
const MAX_PAST = 10_000

type Source = Pick<Database, 'engine' | 'read'>

/** Returns the rows of every table: exact in small tables, estimated in large ones. */
export async function countTables(database: Source): Promise<ReadonlyMap<TableName, number>> {
  const estimates = database.engine === 'postgres' ? await readEstimates(database.read) : new Map<string, number>()
  const counts = new Map<TableName, number>()
  for (const table of TABLE_NAMES) {
    const estimate = database.engine === 'postgres' ? estimates.get(table) : await readSpan(database.read, table)
    const isLarge = estimate !== undefined && estimate > EXACT_ROWS
    counts.set(table, isLarge ? estimate : await countRows(database.read, table))
  }
  return counts
}

/** Tables of this schema on PostgreSQL. The rows and bytes of a partition count for its table. */
const STORED_TABLES = sql`pg_class c left join pg_inherits i on i.inhrelid = c.oid
  left join pg_class p on p.oid = i.inhparent
  where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' group by 1`

/** What the statistics of the server say; 0 for a table without statistics. */
async function readEstimates(db: Reader): Promise<ReadonlyMap<string, number>> {
  const { rows } = await sql<{ name: string; rows: number }>`
    select coalesce(p.relname, c.relname) as name, sum(greatest(c.reltuples, 0))::float8 as rows
    from ${STORED_TABLES}`.execute(db)
  return new Map(rows.map((row) => [row.name, Math.round(row.rows)]))
}

/** Rows are removed from the lower end, so the first and the last row id give their number closely. */
async function readSpan(db: Reader, table: TableName): Promise<number | undefined> {
  // The only table without row ids.
  if (table === 'audit_subjects') return undefined
  const { rows } = await sql<{ least: number | null; most: number | null }>`
    select (select min(rowid) from ${sql.table(table)}) as least,
      (select max(rowid) from ${sql.table(table)}) as most`.execute(db)
  const { least, most } = rows[0] ?? { least: null, most: null }
  return least === null || most === null ? 0 : most - least + 1
}

async function countRows(db: Reader, table: TableName): Promise<number> {
  const { rows } = await sql<{ rows: number | string }>`
    select count(*) as rows from (select 1 from ${sql.table(table)} limit ${EXACT_ROWS + 1}) as counted`.execute(db)
  return Number(rows[0]?.rows ?? 0)
}

/** Returns the bytes of every table with its indexes; none for a SQLite file that is too large to read. */
export async function measureBytes({ engine, read }: Source): Promise<ReadonlyMap<string, number>> {
  if (engine === 'sqlite' && (await readFileBytes(read)) > MAX_COUNTED_BYTES) return new Map()
  const { rows } = await (
    engine === 'sqlite'
      ? sql<{ name: string; bytes: number | string }>`
        select m.tbl_name as name, sum(d.pgsize) as bytes from dbstat d join sqlite_master m on m.name = d.name
        where d.aggregate = 1 group by m.tbl_name`
      : sql<{ name: string; bytes: number | string }>`
        select coalesce(p.relname, c.relname) as name, sum(pg_total_relation_size(c.oid))::bigint as bytes
        from ${STORED_TABLES}`
  ).execute(read)
  return new Map(rows.map((row) => [row.name, Number(row.bytes)]))
}

async function readFileBytes(db: Reader): Promise<number> {
  const { rows } = await sql<{ bytes: number }>`
    select p.page_count * s.page_size as bytes from pragma_page_count() p, pragma_page_size() s`.execute(db)
  return Number(rows[0]?.bytes ?? 0)
}

/** Returns the time for which rows of a table are stored; undefined when a setting says permanently. */
export function keptTime({ timed }: TableEnd, settings: KeptDays): Instant | undefined {
  if (timed === undefined) return undefined
  if (typeof timed.keptFor === 'bigint') return timed.keptFor
  const days = settings[timed.keptFor]
  return days === 0 ? undefined : BigInt(days) * DAY
}

/** Counts rows that are past their end by more than `slack`, at most 10,000. */
export async function countPast(
  db: Reader,
  table: TableName,
  settings: KeptDays,
  { now, slack }: { readonly now: Instant; readonly slack: Instant },
): Promise<number> {
  const end = TABLE_ENDS[table]
  const kept = keptTime(end, settings)
  if (end.timed === undefined || kept === undefined) return 0
  const past = end.timed.past(writeSortable(now - kept - slack - (end.timed.late ?? 0n)))
  const { rows } = await sql<{ rows: number | string }>`
    select count(*) as rows from (select 1 from ${sql.table(table)} where ${past} limit ${MAX_PAST}) as past`.execute(
    db,
  )
  return Number(rows[0]?.rows ?? 0)
}

/** Returns the most rows that a table is planned for; undefined where only time bounds it. */
export function mostRows({ most }: TableEnd, counts: ReadonlyMap<TableName, number>): number | undefined {
  if (most === undefined || typeof most === 'number') return most
  return most.rows * (counts.get(most.each) ?? 0)
}

/** Days that samples are stored. */
const STORED_DAYS = 32n
const LEASE_SECONDS = 300
/** Growth is compared with a sample of at least this age, and of a week at most. */
const COMPARED_DAYS = 7n

function startOfDay(now: Instant): Instant {
  return now - (now % DAY)
}

/** Stores the number of rows of every table once a day, so that doctor can show how fast each grows. */
export async function sampleRows(parts: LeaseParts): Promise<void> {
  const now = parts.clock.now()
  const day = writeSortable(startOfDay(now))
  if (await hasSample(parts.database.read, day)) return
  await withLease(parts, 'table-rows', LEASE_SECONDS, async () => {
    const counts = await countTables(parts.database)
    const rows = [...counts].map(([table_name, row_count]) => ({ table_name, day, row_count }))
    await parts.database.write(async ({ query }) => {
      await query
        .insertInto('table_rows')
        .values(rows)
        .onConflict((conflict) => conflict.doNothing())
        .execute()
      // Samples of a clock that was ahead, too.
      await query
        .deleteFrom('table_rows')
        .where((eb) => eb.or([eb('day', '<', writeSortable(startOfDay(now) - STORED_DAYS * DAY)), eb('day', '>', day)]))
        .execute()
    })
  })
}

async function hasSample(db: Reader, day: string): Promise<boolean> {
  const row = await db.selectFrom('table_rows').select('day').where('day', '=', day).limit(1).executeTakeFirst()
  return row !== undefined
}

/** Returns by how many rows each table grew per day, since the oldest sample of the last week. */
export async function readGrowth(
  db: Reader,
  counts: ReadonlyMap<TableName, number>,
  now: Instant,
): Promise<ReadonlyMap<TableName, number>> {
  const from = writeSortable(now - COMPARED_DAYS * DAY)
  const samples = await db
    .selectFrom('table_rows')
    .select(['table_name', 'day', 'row_count'])
    .where('day', '>=', from)
    .where('day', '<', writeSortable(startOfDay(now)))
    .orderBy('day', 'desc')
    .execute()
  const growth = new Map<TableName, number>()
  // The oldest sample of a table comes last.
  for (const { table_name, day, row_count } of samples) {
    const table = table_name as TableName
    const days = Number(now - (readInstant(day) ?? now)) / Number(DAY)
    const rows = counts.get(table)
    if (rows !== undefined && days > 0) growth.set(table, (rows - Number(row_count)) / days)
  }
  return growth
}
