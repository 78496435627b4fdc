import { faultPoint } from '#faults'
import { sql } from 'kysely'
import type { Database, Transaction } from '../database.ts'
import { sqlState } from '../postgres/client.ts'
import { boundName, readBound, readLayout } from './layout.ts'
import type { PartitionSet } from './partition-set.ts'
import { changeTables, isLockTimeout } from './table-lock.ts'

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
