import { MINUTE, writeSortable } from '@chancery/protocol'
import { foldLivenessCounts } from '../../database/liveness-counts.ts'
import type { EnrollmentParts } from './parts.ts'

/** Ten runs of the job. */
const RECENT = 10n * MINUTE

/** Keeps the counter of active nodes short and right. */
export function countLiveness({ clock, database }: EnrollmentParts, signal: AbortSignal): Promise<void> {
  return foldLivenessCounts(database, writeSortable(clock.now() - RECENT), signal)
}
