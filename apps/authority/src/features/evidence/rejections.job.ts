import { DAY, writeSortable } from '@chancery/protocol'
import type { EvidenceParts } from './parts.ts'
import { deleteOldRejections } from './queries/entries.ts'

/**
 * Removes refused submissions stored outside the chain (NA_EVIDENCE_REJECTIONS=table). Those in the chain are removed
 * with it.
 */
export async function removeOldRejections(parts: EvidenceParts): Promise<void> {
  const stored = BigInt(parts.settings.rejectionKeptDays) * DAY
  await deleteOldRejections(parts.database, writeSortable(parts.purgeClock.daily.now() - stored))
}
