import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../database.ts'
import { PARTITION_ENTRIES, createPartition } from '../migrations/0047-evidence-partitions.ts'

/** One partition: its first entry, and the first one after it. */
export interface Partition {
  readonly name: string
  readonly from: number
  readonly to: number
}

export interface Layout {
  /** Entries of a new partition. */
  readonly size: number
  readonly partitions: readonly Partition[]
}

/** Prefix of a constraint that says where the entries of a table end that is not partitioned yet. */
export const BOUND = 'evidence_entries_below_'

/** Appends look for room again after so many entries: another instance may have changed the table meanwhile. */
const KNOWN_ENTRIES = 100_000

const BOUNDS = /^FOR VALUES FROM \((?:MINVALUE|'?(-?\d+)'?)\) TO \('?(\d+)'?\)$/

/** Reads the partitions of evidence entries from PostgreSQL; undefined before the table has any. */
export async function readLayout(db: Reader): Promise<Layout | undefined> {
  const { rows } = await sql<{ size: string | null; name: string | null; bound: string | null }>`
    select split_part(encode(t.tgargs, 'escape'), '\\000', 1) as size,
      p.relname as name, pg_get_expr(p.relpartbound, p.oid) as bound
    from pg_class e left join pg_trigger t on t.tgrelid = e.oid and t.tgname = 'evidence_entries_unrepeated'
    left join pg_inherits i on i.inhparent = e.oid left join pg_class p on p.oid = i.inhrelid
    where e.oid = 'evidence_entries'::regclass and e.relkind = 'p'`.execute(db)
  const [first] = rows
  if (first === undefined) return undefined
  const partitions = rows.flatMap(({ name, bound }): Partition[] => {
    const [isRead, from, to] = BOUNDS.exec(bound ?? '') ?? []
    if (name === null || isRead === undefined) return []
    return [{ name, from: Number(from ?? Number.NEGATIVE_INFINITY), to: Number(to) }]
  })
  return { size: Number(first.size ?? PARTITION_ENTRIES), partitions: partitions.toSorted((a, b) => a.from - b.from) }
}

/** Partitions with no entry after this one; none on SQLite. */
export async function listPartitionsThrough(
  { engine, read }: Pick<Database, 'engine' | 'read'>,
  sequence: number,
): Promise<readonly Partition[]> {
  if (engine === 'sqlite') return []
  const layout = await readLayout(read)
  return (layout?.partitions ?? []).filter(({ to }) => to <= sequence + 1)
}

/** Entries from one sequence through another. */
export interface EntryRange {
  readonly from: number
  readonly through: number
}

/**
 * Makes the partitions that entries of a range need. Returns the last entry that is known to have room, 0 when a
 * partition was made: the transaction may still be undone.
 */
export async function makeRoom(tx: Transaction, range: EntryRange): Promise<number> {
  const layout = await readLayout(tx.query)
  if (layout === undefined) return makeRoomBefore(tx, range)
  if (missingIn(layout, range).length === 0) return roomOf(layout, range.through)
  // Everything that makes partitions takes this lock. Appends and reads do not wait for it.
  await sql`lock table only evidence_entries in share update exclusive mode`.execute(tx.query)
  const { size } = layout
  for (const from of missingIn((await readLayout(tx.query)) ?? layout, range))
    await createPartition(tx.query, from, from + size)
  return 0
}

/** The first entries of partitions that do not exist. Every bound is a multiple of the size. */
export function missingIn({ size, partitions }: Layout, { from, through }: EntryRange): readonly number[] {
  const missing: number[] = []
  for (let first = Math.floor(from / size) * size; first <= through; first += size)
    if (!partitions.some((each) => each.from <= first && first < each.to)) missing.push(first)
  return missing
}

function roomOf({ partitions }: Layout, through: number): number {
  let end = through
  for (const { from, to } of partitions) if (from <= end + 1 && to > end) end = to - 1
  return Math.min(end, through + KNOWN_ENTRIES)
}

/** A table that is about to be partitioned has a bound. It goes when the chain reaches it first. */
async function makeRoomBefore(tx: Transaction, { through }: EntryRange): Promise<number> {
  const bound = (await readBound(tx.query))?.bound ?? Number.POSITIVE_INFINITY
  if (through < bound) return Math.min(bound - 1, through + KNOWN_ENTRIES)
  await sql.raw(`alter table evidence_entries drop constraint ${BOUND}${bound}`).execute(tx.query)
  return 0
}

/** The bound of a table that is not partitioned yet, and whether all entries are known to be below it. */
export async function readBound(
  db: Reader,
): Promise<{ readonly bound: number; readonly isChecked: boolean } | undefined> {
  const { rows } = await sql<{ name: string; checked: boolean }>`
    select conname as name, convalidated as checked from pg_constraint
    where conrelid = 'evidence_entries'::regclass and starts_with(conname::text, ${BOUND})`.execute(db)
  const [found] = rows
  return found === undefined ? undefined : { bound: Number(found.name.slice(BOUND.length)), isChecked: found.checked }
}
