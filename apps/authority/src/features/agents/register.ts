import { Refusal } from '@chancery/contract'
import {
  CLOCK_TOLERANCE,
  FormError,
  canonicalJson,
  compareCodePoints,
  instantOf,
  readAgentDescriptor,
  verifyAgentDescriptor,
  writeInstant,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { AgentDescriptor, JsonObject } from '@chancery/protocol'
import { type Call, noteCaller } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { AgentsParts, AgentsState } from './search.ts'
import { shorten } from '../../requests/read-fields.ts'
import type { RegistrationRow } from './queries/registrations.ts'

const MAX_BYTES = 16_384

/**
 * POST /agents
 * Registers or refreshes an agent. The signature is verified before any stored state is read, so an unauthenticated
 * caller cannot probe certificates of others. An older descriptor never replaces a newer one.
 */
export async function register(call: Call, parts: AgentsState): Promise<JsonObject> {
  const descriptor = readDescriptor(call.body)
  if (descriptor.signatures.length === 0) throw new Refusal('descriptor_signature_required')
  if (!(await verifyAgentDescriptor(descriptor))) throw new Refusal('invalid_signature')
  noteCaller(call, 'node')
  const expected = parts.network.name
  if (descriptor.network_name !== expected) throw new Refusal('descriptor_network_mismatch', { expected })
  const now = parts.clock.now()
  const isAhead = instantOf(descriptor.registered_at) - CLOCK_TOLERANCE > now
  // Deletes made after the backup may be lost in a recovery, so descriptors signed before the recovery are refused.
  const isBeforeRecovery = instantOf(descriptor.registered_at) <= parts.rollback.replayFloor
  if (isAhead || isBeforeRecovery || now > instantOf(descriptor.expires_at)) throw new Refusal('descriptor_expired')

  const outcome = await parts.batches.registrations.add(toRow(call, parts, descriptor))
  switch (outcome) {
    case 'registered':
      return { status: 'registered', expires_at: descriptor.expires_at }
    case 'no_certificate':
      throw new Refusal('node_has_no_active_certificate')
    case 'key_revoked':
      throw new Refusal('node_key_revoked')
    case 'older':
      throw new Refusal('descriptor_expired')
  }
}

function readDescriptor(body: JsonObject): AgentDescriptor {
  try {
    if (canonicalJson(body).length > MAX_BYTES) throw new FormError('', 'the descriptor is too large')
    return readAgentDescriptor(body)
  } catch (error) {
    if (error instanceof FormError)
      throw new Refusal('invalid_agent_descriptor', { field: shorten(error.field) }, { cause: error })
    throw error
  }
}

function toRow(call: Call, parts: AgentsParts, descriptor: AgentDescriptor): RegistrationRow {
  const { agent_id, node_public_key } = descriptor
  const capabilities = [...new Set(descriptor.capabilities)].sort(compareCodePoints)
  const event_id = parts.ids.uuid()
  const details = { agent_id, node_public_key, ...requestDetails(call) }
  return {
    node_public_key,
    agent_id,
    host: descriptor.endpoint.host,
    // Stored as received, because it must verify under the node's own signature.
    descriptor_json: writeJson(call.body),
    capabilities,
    capabilities_json: writeJson(capabilities),
    registered_at: writeSortable(instantOf(descriptor.registered_at)),
    expires_at: writeSortable(instantOf(descriptor.expires_at)),
    event_id,
    event_json: writeJson({
      event_id,
      event_type: 'agent_registered',
      details,
      created_at: writeInstant(parts.clock.now()),
    }),
  }
}
