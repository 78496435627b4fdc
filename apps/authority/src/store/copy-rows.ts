import { sql } from 'kysely'
import type { RawBuilder } from 'kysely'
import type { Tx } from './database.ts'

/** A table as both databases have it. */
export interface CopiedTable {
  readonly name: string
  readonly columns: readonly { readonly name: string; readonly type: string }[]
  /** The primary key. */
  readonly key: readonly string[]
  readonly rows: number
}

type Row = Readonly<Record<string, unknown>>

/** A batch goes in one statement: so many rows, or so much text. */
const BATCH_ROWS = 500
const BATCH_CHARACTERS = 4 * 1024 * 1024
/** Counts migrations, each database its own. */
const NOT_COPIED = 'schema_version'

/** Names of everything an SQLite database holds. */
export async function listSourceTables(source: Tx): Promise<readonly string[]> {
  const { rows } = await sql<{ name: string }>`
    select name from sqlite_master where type = 'table' and name not like 'sqlite%' order by name`.execute(source)
  return rows.map(({ name }) => name)
}

/** What is to be copied, from the two schemas themselves: a table that a later release adds cannot be forgotten. */
export async function describeTables(source: Tx, target: Tx): Promise<readonly CopiedTable[]> {
  const { rows: columns } = await sql<{ table: string; name: string; type: string }>`
    select table_name as "table", column_name as name, data_type as type from information_schema.columns
    where table_schema = current_schema() order by table_name, ordinal_position`.execute(target)
  const tables: CopiedTable[] = []
  for (const name of await listSourceTables(source)) {
    if (name === NOT_COPIED) continue
    const own = columns.filter(({ table }) => table === name)
    if (own.length === 0) throw new Error(`the table ${name} is not known to this release`)
    const { rows: known } = await sql<{ name: string; pk: number }>`
      select name, pk from pragma_table_info(${name}) order by pk`.execute(source)
    const key = known.filter(({ pk }) => pk > 0).map((each) => each.name)
    const lost = known.find((each) => own.every((column) => column.name !== each.name))
    if (lost !== undefined) throw new Error(`the column ${name}.${lost.name} is not known to this release`)
    // A column that only the target has is of its engine's own: it fills it itself.
    const shared = own.filter((column) => known.some((each) => each.name === column.name))
    tables.push({ name, columns: shared, key, rows: await countRows(source, name) })
  }
  return tables
}

export async function countRows(db: Tx, table: string): Promise<number> {
  const { rows } = await sql<{ count: number }>`select count(*) as count from ${sql.table(table)}`.execute(db)
  return Number(rows[0]?.count ?? 0)
}

/** Every row of the table, in place of what migrations put there. */
export async function copyRows(
  source: Tx,
  target: Tx,
  table: CopiedTable,
  onRows: (count: number) => void,
): Promise<void> {
  await sql`delete from ${sql.table(table.name)}`.execute(target)
  const names = sql.join(table.columns.map(({ name }) => sql.ref(name)))
  for await (const rows of readBatches(source, table.name)) {
    const values = toColumns(table.columns, rows)
    await sql`insert into ${sql.table(table.name)} (${names}) select * from unnest(${values})`.execute(target)
    onRows(rows.length)
  }
}

/** Reads every row back and compares every value. Gives one line per row that is not there or is another. */
export async function compareRows(
  source: Tx,
  target: Tx,
  table: CopiedTable,
  onRows: (count: number) => void,
): Promise<string[]> {
  const problems: string[] = []
  const keyColumns = table.columns.filter(({ name }) => table.key.includes(name))
  const key = sql.join(keyColumns.map(({ name }) => sql.ref(name)))
  const keyOf = (row: Row): string => JSON.stringify(keyColumns.map(({ name }) => readable(row[name])))
  for await (const rows of readBatches(source, table.name)) {
    const wanted = toColumns(keyColumns, rows)
    const { rows: stored } = await sql<Row>`
      select * from ${sql.table(table.name)} where (${key}) in (select * from unnest(${wanted}))`.execute(target)
    const found = new Map(stored.map((row) => [keyOf(row), row]))
    for (const row of rows) {
      const other = found.get(keyOf(row))
      const differs = table.columns.find(({ name }) => readable(row[name]) !== readable(other?.[name]))
      if (other === undefined) problems.push(`${table.name} ${keyOf(row)}: was not copied`)
      else if (differs !== undefined) problems.push(`${table.name} ${keyOf(row)}: ${differs.name} differs`)
    }
    onRows(rows.length)
  }
  const count = await countRows(target, table.name)
  if (count !== table.rows) problems.push(`${table.name}: ${count} rows instead of ${table.rows}`)
  return problems
}

/** One array per column, each cast to its type. */
function toColumns(columns: CopiedTable['columns'], rows: readonly Row[]): RawBuilder<unknown> {
  return sql.join(
    columns.map(({ name, type }) => {
      const values = rows.map((row) => toParameter(row[name]))
      return sql`${values}::${sql.raw(type)}[]`
    }),
  )
}

function toParameter(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value) : value
}

/** Values of both drivers in one spelling. */
function readable(value: unknown): unknown {
  return value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value
}

async function* readBatches(source: Tx, table: string): AsyncGenerator<readonly Row[]> {
  let batch: Row[] = []
  let characters = 0
  // The name comes from the database's own catalogue, which the compiler cannot know.
  for await (const row of source
    .selectFrom(table as 'heads')
    .selectAll()
    .stream() as AsyncIterable<Row>) {
    batch.push(row)
    for (const value of Object.values(row)) characters += typeof value === 'string' ? value.length : 8
    if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue
    yield batch
    batch = []
    characters = 0
  }
  if (batch.length > 0) yield batch
}
