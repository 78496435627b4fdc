import { Refusal } from '@chancery/contract'
import { writeSortable } from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import type { AgentsParts } from './parts.ts'
import { findDescriptor } from './queries/agents.ts'

/**
 * GET /agents/{node_public_key}
 * Returns one descriptor as it was received. An expired agent is not found.
 */
export async function find(call: Call, parts: AgentsParts): Promise<HttpResponse> {
  const text = await findDescriptor(
    parts.database.read,
    call.params['node_public_key'] ?? '',
    writeSortable(parts.clock.now()),
  )
  if (text === undefined) throw new Refusal('agent_not_registered')
  return jsonText(text)
}
