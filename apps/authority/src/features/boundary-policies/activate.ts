import { Refusal } from '@chancery/contract'
import {
  checkStoredPolicy,
  findPolicyIssues,
  findSetProblems,
  isPolicyId,
  readStoredPolicy,
  writeSortable,
} from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { requestDetails } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryPoliciesState } from './state.ts'
import type { BoundaryPoliciesParts } from './parts.ts'
import { ownKeysAt } from '../../signing/own-keys.ts'
import type { Reader } from '../../database/database.ts'
import { isUniqueViolation } from '../../database/unique-violation.ts'
import { changePolicies } from './change.ts'
import { canRun } from './check-engines.ts'
import { readVersion } from './requests.ts'
import { type PolicyRow, findActiveVersion, findPolicyVersion, switchVersion } from './queries.ts'

/**
 * POST /admin/boundary-policies/{policy_id}/activate
 * Makes one stored version the active one. Its stored bytes are checked again first, because an invalid version would
 * make the whole set unhealthy.
 */
export async function activate(call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  const version = readVersion(call.body)
  const policy_id = call.params['policy_id'] ?? ''
  await requireEngines(call, parts, policy_id, version)
  try {
    return await changePolicies(parts, async (tx) => {
      const row = await requireUsable(tx.query, parts, policy_id, version)
      const previous_version = await findActiveVersion(tx.query, policy_id)
      if (previous_version !== version) {
        await switchVersion(tx, policy_id, version, writeSortable(parts.clock.now()))
        const rollback = previous_version !== null && previous_version > version
        const details = { policy_id, version, policy_digest: row.policy_digest, previous_version, rollback }
        await parts.audit.record(tx, {
          type: 'boundary_policy_activated',
          details: { ...details, ...requestDetails(call) },
        })
      }
      return { policy_id, version, previous_version, active: true }
    })
  } catch (error) {
    // Only a writer without the lock can be faster. The database still allows one active version only.
    if (isUniqueViolation(error)) throw new Refusal('boundary_policy_activation_conflict', {}, { cause: error })
    throw error
  }
}

/** Before the lock is taken, because an engine may take long. Texts and engines do not depend on the stored policies. */
async function requireEngines(
  call: OperatorCall,
  parts: BoundaryPoliciesState,
  policy_id: string,
  version: number,
): Promise<void> {
  const row = isPolicyId(policy_id) ? await findPolicyVersion(parts.database.read, policy_id, version) : undefined
  const policy = row === undefined ? undefined : readStoredPolicy(row)
  // What is wrong with the row itself is reported by the checks under the lock.
  if (policy === undefined || findPolicyIssues(policy).length > 0) return
  if (!(await canRun(policy, parts.engines, call)))
    throw new Refusal('boundary_policy_activation_refused', { reason: 'gate_type_unavailable' })
}

/** protocol/trust-operations 5.9, rows 2 to 5. */
async function requireUsable(
  tx: Reader,
  parts: BoundaryPoliciesParts,
  policy_id: string,
  version: number,
): Promise<PolicyRow> {
  const row = isPolicyId(policy_id) ? await findPolicyVersion(tx, policy_id, version) : undefined
  if (row === undefined) throw new Refusal('boundary_policy_not_found')
  const checked = await checkStoredPolicy(row, (issuedAt) => ownKeysAt(parts.keys, issuedAt))
  const [problem] = findSetProblems([checked], parts.clock.now())
  if (problem === undefined) return row
  if (problem.reason === 'policy_store_integrity_failed') throw new Refusal('boundary_policy_integrity_failed')
  throw new Refusal('boundary_policy_activation_refused', { reason: problem.reason })
}
