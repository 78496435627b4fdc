import { type RawBuilder, sql } from 'kysely'
import type { SQLInputValue } from 'node:sqlite'
import { type Database, type Reader, type Statement, countRows } from '../database.ts'
import { type Column, type Side, listColumns, listTables } from './unfinished-copy.ts'

/** A table as both databases have it. */
export interface CopiedTable {
  readonly name: string
  /** With the types of the target. */
  readonly columns: readonly Pick<Column, 'name' | 'type'>[]
  /** The primary key. */
  readonly key: readonly string[]
  readonly rows: number
}

type Row = Readonly<Record<string, unknown>>

/** A batch goes in one statement: so many rows, or so much text. */
const BATCH_ROWS = 500
const BATCH_CHARACTERS = 4 * 1024 * 1024
/** Rows may be lists of megabytes: how many are fetched next is learnt from the last ones. */
const FIRST_FETCH = 8
/** Counts migrations, each database its own. */
const NOT_COPIED = 'schema_version'

/**
 * The tables to copy, from the two schemas themselves, so that a table of a later release is not left out. One side is
 * SQLite, where the primary keys are read.
 */
export async function describeTables(source: Side, target: Side): Promise<readonly CopiedTable[]> {
  const [from, into] = [await listColumns(source), await listColumns(target)]
  const keyed = source.engine === 'sqlite' ? from : into
  const tables: CopiedTable[] = []
  for (const name of await listTables(source)) {
    if (name === NOT_COPIED) continue
    const own = into.filter(({ table }) => table === name)
    if (own.length === 0) throw new Error(`the table ${name} is not known to this release`)
    const given = from.filter(({ table }) => table === name)
    const lost = given.find((each) => own.every((column) => column.name !== each.name))
    // PostgreSQL has additional columns. A column of SQLite that the target lacks would be lost silently.
    if (lost !== undefined && source.engine === 'sqlite')
      throw new Error(`the column ${name}.${lost.name} is not known to this release`)
    const key = keyed.filter(({ table, pk }) => table === name && pk > 0).sort((a, b) => a.pk - b.pk)
    // A column that only one of them has is of its engine's own: it fills it itself.
    const columns = own.filter((column) => given.some((each) => each.name === column.name))
    tables.push({ name, columns, key: key.map((each) => each.name), rows: await countRows(source.read, name) })
  }
  return tables
}

/** Every row of the table, in place of what migrations put there. */
export async function copyRows(
  source: Side,
  target: Database,
  table: CopiedTable,
  onRows: (count: number) => void,
): Promise<void> {
  await target.write(({ query }) => sql`delete from ${sql.table(table.name)}`.execute(query))
  const insert = insertInto(table)
  for await (const rows of readBatches(source, table.name)) {
    await target.write((tx) => tx.run(insert, rows))
    onRows(rows.length)
  }
}

/** Names are from our own migrations, as the catalogue of the database has them. */
function insertInto({ name, columns }: CopiedTable): Statement<readonly Row[], never> {
  const into = `insert into "${name}" (${columns.map((column) => `"${column.name}"`).join(', ')})`
  return {
    name: `copy-${name}`,
    postgres: {
      text: `${into} select * from unnest(${columns.map(({ type }, at) => `$${at + 1}::${type}[]`).join(', ')})`,
      values: (rows) => columns.map((column) => rows.map((row) => toParameter(row[column.name]))),
    },
    sqlite(prepare, rows) {
      const statement = prepare(`${into} values (${columns.map(() => '?').join(', ')})`)
      for (const row of rows) statement.run(...columns.map((column) => row[column.name] as SQLInputValue))
      return []
    },
  }
}

/** Reads every row back and compares every value. Gives one line per row that is not there or is another. */
export async function compareRows(
  source: Side,
  target: Reader,
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

function readBatches({ engine, read }: Side, table: string): AsyncGenerator<readonly Row[]> {
  return engine === 'sqlite' ? readFile(read, table) : readCursor(read, table)
}

async function* readFile(db: Reader, table: string): AsyncGenerator<readonly Row[]> {
  let batch: Row[] = []
  let characters = 0
  // The name comes from the database's own catalogue, which the compiler cannot know.
  for await (const row of db
    .selectFrom(table as 'heads')
    .selectAll()
    .stream() as AsyncIterable<Row>) {
    batch.push(row)
    characters += charactersOf(row)
    if (batch.length < BATCH_ROWS && characters < BATCH_CHARACTERS) continue
    yield batch
    batch = []
    characters = 0
  }
  if (batch.length > 0) yield batch
}

/** On PostgreSQL; inside a transaction, which alone keeps a cursor open. */
async function* readCursor(db: Reader, table: string): AsyncGenerator<readonly Row[]> {
  await sql`declare copied_rows no scroll cursor for select * from ${sql.table(table)}`.execute(db)
  for (let count = FIRST_FETCH; ;) {
    const { rows } = await sql<Row>`fetch ${sql.lit(count)} from copied_rows`.execute(db)
    if (rows.length === 0) break
    yield rows
    const characters = rows.reduce((sum, row) => sum + charactersOf(row), 0) / rows.length
    count = Math.max(1, Math.min(BATCH_ROWS, count * 4, Math.floor(BATCH_CHARACTERS / characters)))
  }
  await sql`close copied_rows`.execute(db)
}

function charactersOf(row: Row): number {
  let sum = 1
  for (const value of Object.values(row)) sum += typeof value === 'string' ? value.length : 8
  return sum
}
