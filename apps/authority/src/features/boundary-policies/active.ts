import { GATE_TYPE_NAMES, type JsonObject, findSetProblems } from '@chancery/protocol'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryPoliciesState } from './state.ts'
import { describeActive } from './view.ts'

/**
 * GET /admin/boundary-policies/active
 * Returns the active policies, their health, and the gates that this authority supports.
 */
export async function active(_call: OperatorCall, parts: BoundaryPoliciesState): Promise<JsonObject> {
  const set = await parts.active.read()
  const problems = findSetProblems(set, parts.clock.now())
  return {
    enforcement: parts.settings.boundaryPolicyEnforcement,
    policy_set_healthy: problems.length === 0,
    problems: problems.map((problem) => ({ ...problem })),
    registry_gate_types: GATE_TYPE_NAMES,
    active: set.map(describeActive),
  }
}
