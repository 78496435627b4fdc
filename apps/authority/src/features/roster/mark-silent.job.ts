import { isLargeTable } from '../../database/large-table.ts'
import { momentOf } from './node-state.ts'
import type { RosterParts } from './parts.ts'
import { addMarks, removeOldMarks } from './queries/mark-silent.ts'

/**
 * Marks nodes that have become silent, so that an index lists them. Heartbeats remove the mark. A small network is read
 * as a whole instead, and needs no marks.
 */
export async function markSilent({ activeWindow, database, clock }: RosterParts, signal: AbortSignal): Promise<void> {
  if (!(await isLargeTable(database.read, 'node_liveness'))) return
  const { silentUntil } = momentOf(clock.now(), activeWindow.seconds)
  await removeOldMarks(database, silentUntil)
  await addMarks(database, silentUntil, signal)
}
