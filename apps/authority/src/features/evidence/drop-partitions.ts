import { faultPoint } from '#faults'
import { sql } from 'kysely'
import type { EvidenceParts } from './store-verifier.ts'
import { deleteSomeFacts } from './queries/decision-facts.ts'
import { findLatestCheckpoint } from './queries/entries.ts'
import type { Transaction } from '../../database/database.ts'
import { type Lease, checkLease } from '../../database/locks/leases.ts'
import { EVIDENCE } from '../../database/partitions/evidence-partitions.ts'
import { type Partition, listPartitionsThrough, readLayout } from '../../database/partitions/layout.ts'
import { changeTables } from '../../database/partitions/table-lock.ts'

const ROWS = 10_000
/** The sweep runs every minute. */
const ATTEMPTS = 3

/**
 * Drops whole partitions before the boundary: no row is written, and their space is free at once. Returns false when
 * one could not be dropped now, because a long transaction such as a backup reads the table.
 */
export async function dropRemovedPartitions(
  parts: EvidenceParts,
  lease: Lease,
  removedThrough: number,
  signal?: AbortSignal,
): Promise<boolean> {
  const { database } = parts
  for (const partition of await listPartitionsThrough(database, EVIDENCE, removedThrough)) {
    await deleteFacts(parts, lease, partition.to - 1)
    const plan = async (tx: Transaction): Promise<readonly string[]> => {
      await checkLease(tx, lease)
      if (!(await isRemoved(tx, partition))) return []
      // Ends an autovacuum of it, which no request waits for.
      await sql`lock table ${sql.table(partition.name)} in share update exclusive mode`.execute(tx.query)
      return [`drop table ${partition.name}`]
    }
    if (!(await changeTables(database, EVIDENCE, { plan, signal, attempts: ATTEMPTS }))) return false
    faultPoint('retention-dropped')
  }
  return true
}

/** The rule that a trigger enforces for deleted rows: a signed checkpoint has all of them. */
async function isRemoved(tx: Transaction, { name, to }: Partition): Promise<boolean> {
  const through = (await findLatestCheckpoint(tx.query))?.removed_through_sequence ?? 0
  const current = await readLayout(tx.query, EVIDENCE)
  return to <= through + 1 && current?.partitions.some((each) => each.name === name) === true
}

async function deleteFacts({ database }: EvidenceParts, lease: Lease, through: number): Promise<void> {
  for (;;) {
    const deleted = await database.write(async (tx) => {
      await checkLease(tx, lease)
      return deleteSomeFacts(tx, through, ROWS)
    })
    if (deleted < ROWS) return
  }
}
