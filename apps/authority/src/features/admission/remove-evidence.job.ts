import { HOUR, writeSortable } from '@chancery/protocol'
import type { AdmissionParts } from './parts.ts'
import { removeEndedRows } from './queries.ts'

/**
 * Removes used evidence and admitted certificates an hour after their end, which is more than clocks may differ. Uses
 * the purge clock, so a clock that is ahead removes nothing early.
 */
export async function removeEnded(
  parts: Pick<AdmissionParts, 'database' | 'purgeClock'>,
  signal: AbortSignal,
): Promise<void> {
  const before = writeSortable(parts.purgeClock.daily.now() - HOUR)
  while (!signal.aborted && (await removeEndedRows(parts.database, before)));
}
