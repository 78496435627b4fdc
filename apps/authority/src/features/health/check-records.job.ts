import type { HealthParts } from './parts.ts'
import { findFeedFault } from '../revocation-feeds/index.ts'

/**
 * Looks at stored records that count by their signature: some treaties each time, in turn. What stops the list, the feed
 * or the log is found where they are signed; here it is only seen that the feed is whole again.
 */
export async function checkRecords(parts: HealthParts): Promise<void> {
  const { database, ownKeys, recordFaults } = parts
  await parts.verifiedTreaties.look(database)
  if (!recordFaults.has('feed')) return
  const problem = await findFeedFault(database.read, ownKeys)
  if (problem === undefined) recordFaults.clear('feed')
}
