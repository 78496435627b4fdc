import { DAY, writeSortable } from '@chancery/protocol'
import { REJECTIONS_KEPT } from '../../database/sizes/table-ends.ts'
import type { EvidenceParts } from './store-verifier.ts'
import { deleteOldCheckpoints, deleteOldRejections } from './queries/entries.ts'
import { deleteHoursBefore } from './queries/decision-facts.ts'
import { EVIDENCE } from '../../database/partitions/evidence-partitions.ts'
import { keepPartitions } from '../../database/partitions/keep-partitions.ts'

/** Partitions the table when it is large, while instances serve, and makes the next partition ahead. */
export async function keepEvidencePartitions(parts: EvidenceParts, signal: AbortSignal): Promise<void> {
  await keepPartitions(parts, EVIDENCE, signal)
}

/** Hourly counts are stored as long as the longest range a request may ask for. */
const COUNTED = 400n * DAY
/** A checkpoint has the heads of up to 50,000 resources. The latest one stays, and every later one has its heads. */
const CHECKPOINTS_STORED = 400n * DAY

/**
 * Removes hourly counts, checkpoints that later ones replaced, and refused submissions stored outside the chain
 * (NA_EVIDENCE_REJECTIONS=table). Those in the chain are removed with it.
 */
export async function removeOldRows(parts: EvidenceParts): Promise<void> {
  const now = parts.purgeClock.daily.now()
  await deleteOldRejections(parts.database, writeSortable(now - REJECTIONS_KEPT))
  await parts.database.write((tx) => deleteHoursBefore(tx, writeSortable(now - COUNTED)))
  await parts.database.write((tx) => deleteOldCheckpoints(tx, writeSortable(now - CHECKPOINTS_STORED)))
}
