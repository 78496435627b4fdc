import { faultPoint } from '#faults'
import type { Office } from '../../office.ts'
import { readEvidenceHead } from '../../store/evidence-chain.ts'
import { checkLease, withLease } from '../../store/leases.ts'
import type { Lease } from '../../store/leases.ts'
import { deleteBehind } from './store.ts'

/** Rows of one deleting transaction: short enough that appends hardly wait. */
const ROWS = 10_000
const LEASE_SECONDS = 300

/** Deletes what lies behind the boundary. Every transaction compares the lease, so a paused sweep cannot act late. */
export async function sweep(office: Office, lease: Lease, signal?: AbortSignal): Promise<void> {
  const { removed_through } = await readEvidenceHead(office.store.db)
  for (;;) {
    const deleted = await office.store.transact(async (tx) => {
      await checkLease(tx, lease)
      return deleteBehind(tx, removed_through, ROWS)
    })
    faultPoint('retention-swept')
    if (deleted === 0 || signal?.aborted === true) return
  }
}

/** Ends what a crash or a stop left unfinished; nothing to do in any other minute. */
export async function sweepRemoved(office: Office, signal: AbortSignal): Promise<void> {
  if (!office.settings.evidenceStore) return
  const { db } = office.store
  const { removed_through } = await readEvidenceHead(db)
  const first = await db
    .selectFrom('evidence_entries')
    .select('store_sequence')
    .orderBy('store_sequence')
    .limit(1)
    .executeTakeFirst()
  if (first === undefined || first.store_sequence > removed_through) return
  await withLease(office, 'evidence-retention', LEASE_SECONDS, (lease) => sweep(office, lease, signal))
}
