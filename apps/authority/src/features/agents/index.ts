import { Refusal, agents } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import type { Feature } from '../../core.ts'
import { whenClockIsCorrect } from '../../clock/purge-clock.ts'
import { type AgentsParts, capabilities, openAgentBatches, search } from './search.ts'
import { list } from './list.ts'
import { register } from './register.ts'
import {
  CLOCK_TOLERANCE,
  MAX_AGENT_LIFETIME_SECONDS,
  readInstant,
  seconds,
  verifyAgentDelete,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import { sql } from 'kysely'
import { deleteInParts } from '../../database/large-tables.ts'
import { lockNodeKeys } from '../../database/transaction.ts'
import { findDescriptor, insertTombstone, loadForRemoval, unlistAgents } from './queries/agents.ts'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'

export { dropAgents, listAgentsOf, unlistAllAgents } from './queries/agents.ts'

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

/**
 * GET /agents/{node_public_key}
 * Returns one descriptor as it was received. An expired agent is not found.
 */
async function find(call: Call, parts: AgentsParts): Promise<HttpResponse> {
  const text = await findDescriptor(
    parts.database.read,
    call.params['node_public_key'] ?? '',
    writeSortable(parts.clock.now()),
  )
  if (text === undefined) throw new Refusal('agent_not_registered')
  return jsonText(text)
}

/**
 * DELETE /agents/{node_public_key}
 * Removes an agent. Only its own key can do this, with an envelope no older than the registration.
 */
async function remove(call: Call, parts: AgentsParts): Promise<JsonObject> {
  const key = call.params['node_public_key'] ?? ''
  const signedAt = await checkEnvelope(call.body, key, parts.clock.now())
  await parts.database.write(async (tx) => {
    await lockNodeKeys(tx, [key])
    const stored = await loadForRemoval(parts.database, tx.query, key, writeSortable(parts.clock.now()))
    if (stored === undefined) throw new Refusal('agent_not_registered')
    if (writeSortable(signedAt) < stored.registered_at) throw new Refusal('signed_at_outside_window')
    await unlistAgents(tx, [key])
    await insertTombstone(tx, key, writeSortable(signedAt), writeSortable(removeAfter(signedAt)))
    const details = { agent_id: stored.agent_id, node_public_key: key, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'agent_deregistered', details })
  })
  return { status: 'deregistered' }
}

/** Checks 2 to 6 of protocol/core 13.4. */
async function checkEnvelope(body: JsonObject, key: string, now: Instant): Promise<Instant> {
  const { signature, signed_at, version = 'v1' } = body
  if (typeof signature !== 'string' || signature === '' || typeof signed_at !== 'string' || signed_at === '')
    throw new Refusal('delete_signature_required')
  if (version !== 'v1') throw new Refusal('bad_request')
  const instant = readInstant(signed_at)
  if (instant === undefined) throw new Refusal('invalid_signed_at')
  const age = now - instant
  if (age > CLOCK_TOLERANCE || age < -CLOCK_TOLERANCE) throw new Refusal('signed_at_outside_window')
  if (!(await verifyAgentDelete(key, { signed_at, signature }))) throw new Refusal('invalid_signature')
  return instant
}

/** No descriptor signed before the delete can be valid after this time, whatever lifetime it states. */
function removeAfter(signedAt: Instant): Instant {
  return signedAt + seconds(MAX_AGENT_LIFETIME_SECONDS) + CLOCK_TOLERANCE
}

export function openAgents(parts: AgentsParts): Feature {
  const batches = openAgentBatches(parts.database, parts.clock)
  const own = { ...parts, batches }
  return {
    routes: [
      bind(agents.register, (call) => register(call, own)),
      bindRead(agents.search, { reads: parts.agentReads }, (call, database) => search(call, { ...own, database })),
      bindRead(agents.find, { reads: parts.agentReads }, (call, database) => find(call, { ...own, database })),
      bind(agents.remove, (call) => remove(call, own)),
      bindRead(agents.list, { reads: parts.agentReads }, (call, database) => list(call, { ...own, database })),
      bindRead(agents.capabilities, { reads: parts.agentReads }, (call, database) =>
        capabilities(call, { ...own, database }),
      ),
    ],
    jobs: [
      {
        name: 'purge-agents',
        everySeconds: 30,
        run: whenClockIsCorrect(parts.clockCheck, (signal) => purgeAgents(parts, signal)),
      },
    ],
    close: () => batches.close(),
  }
}
