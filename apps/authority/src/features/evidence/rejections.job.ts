import { DAY, writeSortable } from '@chancery/protocol'
import type { EvidenceParts } from './parts.ts'
import { deleteOldRejections } from './queries/entries.ts'

/** Refused submissions that are kept beside the chain (NA_EVIDENCE_REJECTIONS=table); those in it end with it. */
export async function removeOldRejections(parts: EvidenceParts): Promise<void> {
  const kept = BigInt(parts.settings.rejectionKeptDays) * DAY
  await deleteOldRejections(parts.database.read, writeSortable(parts.purgeClock.daily.now() - kept))
}
