import { Refusal } from '@chancery/contract'
import { type HttpResponse, jsonText } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { PolicyParts } from './parts.ts'
import { readRollbackRequest } from './requests.ts'
import { findActivePolicy, findPolicy } from './queries.ts'
import { activateStored, verifyStored } from './versions.ts'

/**
 * POST /admin/policy/rollback
 * Activates a stored version, unchanged. One of a former key is signed again. Repeating it changes nothing.
 */
export async function rollback(call: OperatorCall, parts: PolicyParts): Promise<HttpResponse> {
  const policy_id = readRollbackRequest(call.body)
  return parts.database.write(async (tx) => {
    await tx.lock('policy')
    const stored = await findPolicy(tx.query, policy_id)
    if (stored === undefined) throw new Refusal('policy_not_found')
    await verifyStored(parts, stored)
    if (stored.active === 1) return jsonText(stored.policy_json)
    const previous = await findActivePolicy(tx.query)
    const text = await activateStored(tx, parts, { stored, previous })
    const details = { policy_id, previous_policy_id: previous?.policy_id ?? null, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'policy_rolled_back', details })
    return jsonText(text)
  })
}
