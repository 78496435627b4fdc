import { Refusal } from '@chancery/contract'
import type { JsonObject } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { EvidenceParts } from './store-verifier.ts'
import { findResourceHeads } from './queries/lookups.ts'

/**
 * GET /admin/evidence/resource-heads/{resource_id}
 * Returns the record that the next one must link to, also when all earlier ones were removed.
 */
export async function resourceHeads(call: OperatorCall, parts: EvidenceParts): Promise<JsonObject> {
  const resource_id = call.params['resource_id'] ?? ''
  const head = (await findResourceHeads(parts.database, parts.database.read, [resource_id])).get(resource_id)
  if (head === undefined || head.resource_sequence === null) throw new Refusal('resource_not_found')
  return { resource_id, resource_sequence: head.resource_sequence, record_digest: head.record_digest }
}
