import { faultPoint } from '#faults'
import { dropRemovedPartitions } from './drop-partitions.ts'
import type { EvidenceParts } from './parts.ts'
import { readEvidenceHead } from './queries/chain.ts'
import { type Lease, checkLease, withLease } from '../../database/locks/leases.ts'
import { EVIDENCE } from '../../database/partitions/evidence-partitions.ts'
import { listPartitionsThrough } from '../../database/partitions/layout.ts'
import { deleteThrough } from './queries/entries.ts'

/** Rows per deleting transaction: few enough that appends are hardly delayed. */
const ROWS = 10_000
const LEASE_SECONDS = 300

/**
 * Drops partitions before the boundary, then deletes the rows before it in the first partition that stays. Every
 * transaction compares the lease, so a paused sweep cannot act late.
 */
export async function sweep(parts: EvidenceParts, lease: Lease, signal?: AbortSignal): Promise<void> {
  const { removed_through } = await readEvidenceHead(parts.database.read)
  // A partition that is read now is dropped by a later sweep. Its entries are hidden.
  if (!(await dropRemovedPartitions(parts, lease, removed_through, signal))) return
  for (;;) {
    const deleted = await parts.database.write(async (tx) => {
      await checkLease(tx, lease)
      return deleteThrough(tx, removed_through, ROWS)
    })
    faultPoint('retention-swept')
    if (deleted === 0 || signal?.aborted === true) return
  }
}

/** Finishes the deletion after a crash or a stop. Otherwise there is nothing to do. */
export async function sweepRemoved(parts: EvidenceParts, signal: AbortSignal): Promise<void> {
  if (!parts.settings.evidenceStore) return
  const db = parts.database.read
  const { removed_through } = await readEvidenceHead(db)
  const first = await db
    .selectFrom('evidence_entries')
    .select('store_sequence')
    .orderBy('store_sequence')
    .limit(1)
    .executeTakeFirst()
  const hasRows = first !== undefined && first.store_sequence <= removed_through
  if (!hasRows && (await listPartitionsThrough(parts.database, EVIDENCE, removed_through)).length === 0) return
  await withLease(parts, 'evidence-retention', LEASE_SECONDS, (lease) => sweep(parts, lease, signal))
}
