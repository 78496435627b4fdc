import { faultPoint } from '#faults'
import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../database.ts'
import { PARTITION_ENTRIES, createParent, firstBound, replacement } from '../migrations/0047-evidence-partitions.ts'
import { BOUND, readBound, readLayout } from './evidence-partitions.ts'
import { changeEntriesTable, isLockTimeout } from './table-lock.ts'

export interface PartitionOptions {
  readonly size?: number
  readonly signal?: AbortSignal
}

/**
 * Partitions a table of evidence entries while instances use it. Every step is one transaction, and the next one
 * follows from what the database has, so a run that was killed is continued by any other. Two runs at once do no harm.
 * Requests wait for two short locks: for a new constraint that is not checked yet, and for the new table, which takes
 * over the old one as its first partition. All entries are read in between, under a lock that no request waits for.
 *
 * Returns false when a long transaction did not leave the table: the next run continues.
 */
export async function partitionEvidence(database: Database, options: PartitionOptions = {}): Promise<boolean> {
  const { size = PARTITION_ENTRIES, signal } = options
  for (;;) {
    if ((await readLayout(database.read)) !== undefined) return true
    if (signal?.aborted === true) return false
    const bound = await readBound(database.read)
    if (bound === undefined || isNear(bound.bound, await readLast(database.read), size)) {
      if (!(await changeEntriesTable(database, { signal, plan: (tx) => renewBound(tx, size) }))) return false
      faultPoint('partitions-bounded')
    } else if (!bound.isChecked) {
      if (!(await checkBound(database, bound.bound))) return false
      faultPoint('partitions-checked')
    } else {
      const isDone = await changeEntriesTable(database, {
        signal,
        plan: (tx) => prepare(tx, size, bound.bound),
        onChanged: () => faultPoint('partitions-attached'),
      })
      if (!isDone) return false
      faultPoint('partitions-replaced')
    }
  }
}

/** Whether the chain has come close to a bound of an earlier run. */
function isNear(bound: number, lastSequence: number, size: number): boolean {
  return lastSequence > bound - size / 4
}

async function readLast(db: Reader): Promise<number> {
  const row = await db.selectFrom('evidence_head').select('last_sequence').executeTakeFirstOrThrow()
  return Number(row.last_sequence)
}

async function renewBound(tx: Transaction, size: number): Promise<readonly string[]> {
  // Another run may have been faster.
  if ((await readLayout(tx.query)) !== undefined) return []
  const [earlier, last] = [await readBound(tx.query), await readLast(tx.query)]
  if (earlier !== undefined && !isNear(earlier.bound, last, size)) return []
  const bound = firstBound(last, size)
  return [
    ...(earlier === undefined ? [] : [`alter table evidence_entries drop constraint ${BOUND}${earlier.bound}`]),
    `alter table evidence_entries add constraint ${BOUND}${bound} check (store_sequence < ${bound}) not valid`,
  ]
}

/** Reads all entries. False while another transaction does, or cleans the table. */
async function checkBound(database: Database, bound: number): Promise<boolean> {
  const check = sql.raw(`alter table evidence_entries validate constraint ${BOUND}${bound}`)
  try {
    await database.write(({ query }) => check.execute(query), { unlimited: true })
    return true
  } catch (error) {
    if (isLockTimeout(error)) return false
    throw error
  }
}

/** Creates the partitioned table, and returns what puts it in place. */
async function prepare(tx: Transaction, size: number, bound: number): Promise<readonly string[]> {
  if ((await readLayout(tx.query)) !== undefined) return []
  const current = await readBound(tx.query)
  if (current?.bound !== bound || !current.isChecked) return []
  await createParent(tx.query, size)
  return [...replacement(bound), `alter table evidence_entries_0 drop constraint ${BOUND}${bound}`]
}
