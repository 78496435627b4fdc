import { DAY, writeSortable } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import { deleteOldRejections } from './store.ts'

/** Refused submissions that are kept beside the chain (NA_EVIDENCE_REJECTIONS=table); those in it end with it. */
export async function removeOldRejections(office: Office): Promise<void> {
  const kept = BigInt(office.settings.rejectionKeptDays) * DAY
  await deleteOldRejections(office.store.db, writeSortable(office.settledTime.daily.now() - kept))
}
