import type { HealthParts } from './parts.ts'
import { findFeedFault } from '../revocation-feeds/index.ts'

/**
 * Verifies stored records whose signature counts: some treaties each time, in rotation. Faults of the list, the feed or
 * the log are found when they are signed. Here only the end of a feed fault is detected.
 */
export async function checkRecords(parts: HealthParts): Promise<void> {
  const { database, keys, recordFaults } = parts
  await parts.verifiedTreaties.look(database)
  if (!recordFaults.has('feed')) return
  const problem = await findFeedFault(database.read, keys)
  if (problem === undefined) recordFaults.clear('feed')
}
