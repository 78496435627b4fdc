import type { Log } from '@chancery/service-kit'
import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../database.ts'
import { type LeaseParts, withLease } from '../locks/leases.ts'
import { boundName, endOf, makeRoom, missingIn, openRoom, readBound, readLayout } from './layout.ts'
import { type PartitionSet, changeTables, isLockTimeout } from './table-lock.ts'
import { faultPoint } from '#faults'
import { sqlState } from '../postgres/client.ts'

export interface PartitionOptions {
  readonly size?: number
  readonly signal?: AbortSignal
}

/**
 * Partitions tables while instances use them. Every step is one transaction, and the next one follows from what the
 * database has, so a run that was killed is continued by any other. Two runs at once do no harm. Requests wait for two
 * short locks: for new constraints that are not checked yet, and for the new tables, which take over the old ones as
 * their first partitions. All rows are read in between, under a lock that no request waits for.
 *
 * Returns false when a long transaction did not leave the tables: the next run continues.
 */
export async function partitionTables(
  database: Database,
  set: PartitionSet,
  options: PartitionOptions = {},
): Promise<boolean> {
  const { size = set.newSize, signal } = options
  for (;;) {
    if ((await readLayout(database.read, set)) !== undefined) return true
    if (signal?.aborted === true) return false
    const bound = await readBound(database.read, set)
    if (bound === undefined || isNear(bound.bound, await set.readLast(database.read), size)) {
      if (!(await changeTables(database, set, { signal, plan: (tx) => renewBound(tx, set, size) }))) return false
      faultPoint('partitions-bounded')
    } else if (bound.unchecked.length > 0) {
      for (const table of bound.unchecked) if (!(await checkBound(database, table, bound.bound))) return false
      faultPoint('partitions-checked')
    } else {
      const isDone = await changeTables(database, set, {
        signal,
        plan: (tx) => prepare(tx, set, size, bound.bound),
        onChanged: () => faultPoint('partitions-attached'),
      })
      if (!isDone) return false
      faultPoint('partitions-replaced')
    }
  }
}

/** Where the partition of all rows of before ends: far enough that values do not reach it while they are checked. */
export function firstBound(last: number, size: number): number {
  return Math.ceil((last + 1 + Math.max(size / 2, last / 10)) / size) * size
}

/** Whether the values have come close to a bound of an earlier run. */
function isNear(bound: number, last: number, size: number): boolean {
  return last > bound - size / 4
}

async function renewBound(tx: Transaction, set: PartitionSet, size: number): Promise<readonly string[]> {
  // Another run may have been faster.
  if ((await readLayout(tx.query, set)) !== undefined) return []
  const [earlier, last] = [await readBound(tx.query, set), await set.readLast(tx.query)]
  if (earlier !== undefined && !isNear(earlier.bound, last, size)) return []
  const bound = firstBound(last, size)
  const least = set.least === undefined ? '' : `${set.key} >= ${set.least} and `
  return [
    ...(earlier?.drops ?? []),
    // With the constraint: rows that are inserted after it keep below the bound.
    ...(set.room === undefined ? [] : [set.room.moveEnd(bound)]),
    ...set.tables.map(
      (table) =>
        `alter table ${table} add constraint ${boundName(table, bound)} check (${least}${set.key} < ${bound}) not valid`,
    ),
  ]
}

/** Another run has put the new table in place, or made another bound. */
const NO_SUCH_CONSTRAINT = '42704'

/** Reads all rows of a table. False while another transaction does, or cleans the table. */
async function checkBound(database: Database, table: string, bound: number): Promise<boolean> {
  const check = sql.raw(`alter table ${table} validate constraint ${boundName(table, bound)}`)
  try {
    await database.write(({ query }) => check.execute(query), { unlimited: true })
    return true
  } catch (error) {
    if (isLockTimeout(error)) return false
    // The next turn continues from what the database has now.
    if (sqlState(error) === NO_SUCH_CONSTRAINT) return true
    throw error
  }
}

/** Creates the partitioned tables, and returns what puts them in place. */
async function prepare(tx: Transaction, set: PartitionSet, size: number, bound: number): Promise<readonly string[]> {
  if ((await readLayout(tx.query, set)) !== undefined) return []
  const current = await readBound(tx.query, set)
  if (current?.bound !== bound || current.unchecked.length > 0) return []
  await set.createParents(tx.query, size)
  for (const table of set.tables) await copyGrants(tx, table)
  return [
    ...set.replacement(bound),
    ...set.tables.map((table) => `alter table ${table}_0 drop constraint ${boundName(table, bound)}`),
  ]
}

/** Other roles may do with the partitioned table what they may do with the one of before. */
async function copyGrants(tx: Transaction, table: string): Promise<void> {
  const grants = `do $$ declare given record; begin
    for given in select a.grantee, a.privilege_type, a.is_grantable from pg_class c, aclexplode(c.relacl) a
      where c.oid = '${table}'::regclass and a.grantee <> c.relowner loop
      execute format('grant %s on ${table}_parent to %s%s', given.privilege_type,
        case when given.grantee = 0 then 'public' else quote_ident(pg_get_userbyid(given.grantee)) end,
        case when given.is_grantable then ' with grant option' else '' end);
    end loop; end $$`
  await sql.raw(grants).execute(tx.query)
}

const LEASE_SECONDS = 300

/** What is to be done about partitions. */
type PartitionWork =
  | { readonly kind: 'partition'; run(signal: AbortSignal): Promise<boolean> }
  | { readonly kind: 'upkeep'; run(): Promise<void> }

/** Partitions tables that have become large while instances serve, and makes the next partition ahead. */
export async function keepPartitions(
  parts: LeaseParts & { readonly log: Log },
  set: PartitionSet,
  signal: AbortSignal,
): Promise<void> {
  const { log } = parts
  const work = await findPartitionWork(parts.database, set)
  if (work === undefined) return
  await withLease(parts, set.job, LEASE_SECONDS, async () => {
    if (work.kind === 'upkeep') return work.run()
    log.info(`${set.rows} are being partitioned; requests are served`)
    if (await work.run(signal)) log.info(`${set.rows} are partitioned`)
    else log.warn(`${set.rows} are not partitioned yet: a long transaction uses the table; tried again in a minute`)
  })
}

/**
 * Finds out whether the tables have to be partitioned, the next partition is missing when half of the last one is used
 * or is not open yet, or the planner has not counted the rows of all partitions for a day, which autovacuum does not do.
 * SQLite has no partitions.
 */
async function findPartitionWork(database: Database, set: PartitionSet): Promise<PartitionWork | undefined> {
  if (database.engine === 'sqlite') return undefined
  const layout = await readLayout(database.read, set)
  if (layout === undefined) return findFirstWork(database, set)
  const last = await set.readLast(database.read)
  const range = { from: last + 1, through: last + Math.ceil(layout.size / 2) }
  const isMissing = missingIn(layout, range).length > 0
  const isShut = set.room !== undefined && (await set.room.readEnd(database.read)) < endOf(layout)
  if (!isMissing && !isShut && !(await isUncounted(database.read, set))) return undefined
  return {
    kind: 'upkeep',
    run: async () => {
      if (isMissing) await database.write((tx) => makeRoom(tx, set, range))
      await database.write((tx) => openRoom(tx, set))
      await countAgain(database, set)
    },
  }
}

/** Small tables stay as they are: partitions cost each statement planning and locks. */
async function findFirstWork(database: Database, set: PartitionSet): Promise<PartitionWork | undefined> {
  const rows = await set.countRows(database.read)
  if (rows === undefined) return { kind: 'upkeep', run: () => countAgain(database, set) }
  // A change that was begun is completed.
  if (rows < set.partitionedFrom && (await readBound(database.read, set)) === undefined) return undefined
  return { kind: 'partition', run: (signal) => partitionTables(database, set, { signal }) }
}

/** Lets the server count. No request waits for it. */
async function countAgain(database: Database, { tables }: PartitionSet): Promise<void> {
  for (const table of tables)
    await database.write(({ query }) => sql`analyze ${sql.table(table)}`.execute(query), { unlimited: true })
}

async function isUncounted(db: Reader, { tables }: PartitionSet): Promise<boolean> {
  const { rows } = await sql<{ uncounted: boolean }>`
    select bool_or(coalesce(
      (select coalesce(last_analyze < now() - interval '1 day', true) from pg_stat_all_tables
        where relid = name::regclass),
      -- Earlier servers do not list partitioned tables there.
      not exists (select 1 from pg_stats where schemaname = current_schema() and tablename = name)
    )) as uncounted from unnest(${tables}::text[]) as t(name)`.execute(db)
  return rows[0]?.uncounted === true
}
