import { DAY, HOUR, MAX_GRACE_HOURS, writeSortable } from '@chancery/protocol'
import type { AdmissionParts } from './parts.ts'
import { removeEndedRows } from './queries.ts'

/**
 * Removes used evidence an hour after its end, which is more than clocks may differ. Which certificates came from
 * evidence is stored for the longest grace of a rule and a day: they never come back as expired certificates. Uses the
 * purge clock, so a clock that is ahead removes nothing early.
 */
export async function removeEnded(
  parts: Pick<AdmissionParts, 'database' | 'purgeClock'>,
  signal: AbortSignal,
): Promise<void> {
  const now = parts.purgeClock.daily.now()
  const before = {
    evidence: writeSortable(now - HOUR),
    certificates: writeSortable(now - BigInt(MAX_GRACE_HOURS) * HOUR - DAY),
  }
  while (!signal.aborted && (await removeEndedRows(parts.database, before)));
}
