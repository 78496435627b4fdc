import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../database.ts'
import type { PartitionSet } from './table-lock.ts'

/** One partition: its first value, and the first one after it. `suffix` follows the name of a table. */
export interface Partition {
  readonly name: string
  readonly suffix: string
  readonly from: number
  readonly to: number
}

export interface Layout {
  /** Values of a new partition. */
  readonly size: number
  readonly partitions: readonly Partition[]
}

/** Appends look for room again after so many values: another instance may have changed the table meanwhile. */
const KNOWN_VALUES = 100_000

const BOUNDS = /^FOR VALUES FROM \((?:MINVALUE|'?(-?\d+)'?)\) TO \('?(\d+)'?\)$/

/** Reads the partitions of the first table from PostgreSQL; undefined before it has any. */
export async function readLayout(db: Reader, set: PartitionSet): Promise<Layout | undefined> {
  const [table] = set.tables
  const { rows } = await sql<{ size: number | null; name: string | null; bound: string | null }>`
    select ${sql.raw(set.size)} as size, p.relname as name, pg_get_expr(p.relpartbound, p.oid) as bound
    from pg_class e
    left join pg_inherits i on i.inhparent = e.oid left join pg_class p on p.oid = i.inhrelid
    where e.oid = ${table}::regclass and e.relkind = 'p'`.execute(db)
  const [first] = rows
  if (first === undefined) return undefined
  const partitions = rows.flatMap(({ name, bound }): Partition[] => {
    const [isRead, from, to] = BOUNDS.exec(bound ?? '') ?? []
    if (name === null || isRead === undefined) return []
    const suffix = name.slice(table.length)
    return [{ name, suffix, from: Number(from ?? Number.NEGATIVE_INFINITY), to: Number(to) }]
  })
  return { size: Number(first.size ?? set.newSize), partitions: partitions.toSorted((a, b) => a.from - b.from) }
}

/** Partitions with no value after this one; none on SQLite. */
export async function listPartitionsThrough(
  { engine, read }: Pick<Database, 'engine' | 'read'>,
  set: PartitionSet,
  value: number,
): Promise<readonly Partition[]> {
  if (engine === 'sqlite') return []
  const layout = await readLayout(read, set)
  return (layout?.partitions ?? []).filter(({ to }) => to <= value + 1)
}

/** Values from one through another. */
export interface ValueRange {
  readonly from: number
  readonly through: number
}

/**
 * Makes the partitions that values of a range need. Returns the last value that is known to have room, 0 when a
 * partition was made: the transaction may still be undone.
 */
export async function makeRoom(tx: Transaction, set: PartitionSet, range: ValueRange): Promise<number> {
  const layout = await readLayout(tx.query, set)
  if (layout === undefined) return makeRoomBefore(tx, set, range)
  if (missingIn(layout, range).length === 0) return roomOf(layout, range.through)
  await lockLayout(tx, set)
  const { size } = layout
  for (const from of missingIn((await readLayout(tx.query, set)) ?? layout, range))
    await set.createPartition(tx.query, from, from + size)
  return 0
}

/** Everything that makes partitions takes this lock. Inserts and reads do not wait for it. */
export async function lockLayout(tx: Transaction, { tables: [table] }: PartitionSet): Promise<void> {
  await sql`lock table only ${sql.table(table)} in share update exclusive mode`.execute(tx.query)
}

/** Where the last partition ends. */
export function endOf({ partitions }: Layout): number {
  return partitions.at(-1)?.to ?? 0
}

/**
 * Lets rows into partitions that were made. In a later transaction than theirs: what sees the new end then certainly
 * sees the partitions, too.
 */
export async function openRoom(tx: Transaction, set: PartitionSet): Promise<void> {
  if (set.room === undefined) return
  await lockLayout(tx, set)
  const layout = await readLayout(tx.query, set)
  if (layout === undefined || endOf(layout) <= (await set.room.readEnd(tx.query))) return
  await sql.raw(set.room.moveEnd(endOf(layout))).execute(tx.query)
}

/** The first values of partitions that do not exist. Every bound is a multiple of the size. */
export function missingIn({ size, partitions }: Layout, { from, through }: ValueRange): readonly number[] {
  const missing: number[] = []
  for (let first = Math.floor(from / size) * size; first <= through; first += size)
    if (!partitions.some((each) => each.from <= first && first < each.to)) missing.push(first)
  return missing
}

function roomOf({ partitions }: Layout, through: number): number {
  let end = through
  for (const { from, to } of partitions) if (from <= end + 1 && to > end) end = to - 1
  return Math.min(end, through + KNOWN_VALUES)
}

/** A table that is about to be partitioned has a bound. It goes when the values reach it first. */
async function makeRoomBefore(tx: Transaction, set: PartitionSet, { through }: ValueRange): Promise<number> {
  const { bound, drops } = (await readBound(tx.query, set)) ?? { bound: Number.POSITIVE_INFINITY, drops: [] }
  if (through < bound) return Math.min(bound - 1, through + KNOWN_VALUES)
  for (const statement of drops) await sql.raw(statement).execute(tx.query)
  return 0
}

/** The bound of tables that are not partitioned yet. */
export interface Bound {
  readonly bound: number
  /** Tables whose rows are not known to be below it. */
  readonly unchecked: readonly string[]
  /** Statements that remove it. */
  readonly drops: readonly string[]
}

/** The name of a constraint that says where the rows of a table end that is not partitioned yet. */
export function boundName(table: string, bound: number | ''): string {
  return `${table}_below_${bound}`
}

export async function readBound(db: Reader, { tables }: PartitionSet): Promise<Bound | undefined> {
  const found: { readonly table: string; readonly name: string; readonly checked: boolean }[] = []
  for (const table of tables) {
    const { rows } = await sql<{ name: string; checked: boolean }>`
      select conname as name, convalidated as checked from pg_constraint
      where conrelid = ${table}::regclass and starts_with(conname::text, ${boundName(table, '')})`.execute(db)
    for (const row of rows) found.push({ ...row, table })
  }
  const [first] = found
  if (first === undefined) return undefined
  return {
    bound: Number(first.name.slice(boundName(first.table, '').length)),
    unchecked: found.filter(({ checked }) => !checked).map(({ table }) => table),
    drops: found.map(({ table, name }) => `alter table ${table} drop constraint ${name}`),
  }
}
