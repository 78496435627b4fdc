import { Refusal } from '@chancery/contract'
import {
  CLOCK_TOLERANCE,
  MAX_AGENT_LIFETIME_SECONDS,
  readInstant,
  seconds,
  verifyAgentDelete,
  writeSortable,
} from '@chancery/protocol'
import type { Instant, JsonObject } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { AgentsParts } from './parts.ts'
import { lockNodeKeys } from '../../database/locks/node-keys.ts'
import { insertTombstone, loadForRemoval, unlistAgents } from './queries/agents.ts'

/**
 * DELETE /agents/{node_public_key}
 * Removes an agent. Only its own key can do this, with an envelope no older than the registration.
 */
export async function remove(call: Call, parts: AgentsParts): Promise<JsonObject> {
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
