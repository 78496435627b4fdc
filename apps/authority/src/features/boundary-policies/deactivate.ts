import { Refusal } from '@chancery/contract'
import { type JsonObject, isPolicyId, writeSortable } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryPoliciesState } from './state.ts'
import { changePolicies } from './change.ts'
import { readVersion } from './requests.ts'
import { findPolicyVersion, deactivateVersion } from './queries.ts'

/**
 * POST /admin/boundary-policies/{policy_id}/deactivate
 * Deactivates a version. Its bytes are not checked, so that an invalid policy can be deactivated.
 */
export async function deactivate(call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  const version = readVersion(call.body)
  const policy_id = call.params['policy_id'] ?? ''
  return changePolicies(parts, async (tx) => {
    const row = isPolicyId(policy_id) ? await findPolicyVersion(tx.query, policy_id, version) : undefined
    if (row === undefined) throw new Refusal('boundary_policy_not_found')
    if (!(await deactivateVersion(tx, policy_id, version, writeSortable(parts.clock.now()))))
      throw new Refusal('boundary_policy_not_active')
    const details = { policy_id, version, policy_digest: row.policy_digest, ...requestDetails(call) }
    await parts.audit.record(tx, { type: 'boundary_policy_deactivated', details })
    return { policy_id, version, active: false }
  })
}
