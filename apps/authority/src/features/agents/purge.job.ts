import { CLOCK_TOLERANCE, MAX_AGENT_LIFETIME_SECONDS, seconds, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { AgentsParts } from './parts.ts'
import { deleteInParts } from '../../database/delete-in-parts.ts'
import { lockNodeKeys } from '../../database/locks/node-keys.ts'
import { unlistAgents } from './queries/agents.ts'

const BATCH = 500

/**
 * Removes expired agents from the postings, and deletes rows that no longer protect against a replay. Queries filter
 * expired agents in any case.
 */
export async function purgeAgents(parts: AgentsParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted && (await purgeExpired(parts)) === BATCH);
  const now = parts.purgeClock.daily.now()
  // Until then the row records the newest descriptor, so that an older one cannot be replayed.
  const purgeBefore = writeSortable(now - seconds(MAX_AGENT_LIFETIME_SECONDS) - CLOCK_TOLERANCE)
  const before = writeSortable(now)
  const isReplaced = sql`listed = 0 and registered_at < ${purgeBefore}`
  await deleteInParts(parts.database, 'agent_registrations', isReplaced, signal)
  await deleteInParts(parts.database, 'agent_capability_counts', sql`agents <= 0`, signal)
  await deleteInParts(parts.database, 'agent_tombstones', sql`keep_until < ${before}`, signal)
}

async function purgeExpired(parts: AgentsParts): Promise<number> {
  const now = writeSortable(parts.clock.now())
  const candidates = await parts.database.read
    .selectFrom('agent_registrations')
    .select('node_public_key')
    .where('listed', '=', 1)
    .where('expires_at', '<=', now)
    .limit(BATCH)
    .execute()
  if (candidates.length === 0) return 0
  const keys = candidates.map((row) => row.node_public_key)
  await parts.database.write(async (tx) => {
    await lockNodeKeys(tx, keys)
    // Checked again under the lock, because an agent may have been refreshed in the meantime.
    const expired = await tx.query
      .selectFrom('agent_registrations')
      .select('node_public_key')
      .where('node_public_key', 'in', keys)
      .where('expires_at', '<=', now)
      .execute()
    await unlistAgents(
      tx,
      expired.map((row) => row.node_public_key),
    )
  })
  return candidates.length
}
