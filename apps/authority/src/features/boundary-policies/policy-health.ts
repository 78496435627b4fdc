import { findSetProblems, isGlobal } from '@chancery/protocol'
import type { JsonObject } from '@chancery/protocol'
import { toDisplay } from '../../display.ts'
import type { Office } from '../../office.ts'

/** The active set for public pages: ids, ends and counts; never selectors or limits, which tell how to get around them. */
export async function describePolicySet(office: Office): Promise<JsonObject & { readonly healthy: boolean }> {
  const set = await office.boundaryPolicies.read()
  const problems = findSetProblems(set, office.clock.now())
  const healthy = problems.length === 0
  return {
    enforcement: office.settings.boundaryPolicyEnforcement,
    healthy,
    status: healthy ? 'healthy' : 'unhealthy',
    problem_count: problems.length,
    active: set.map(({ policy_id, version, policy }) => ({
      policy_id,
      version,
      valid_until_display: policy === undefined ? null : toDisplay(policy.valid_until),
      gate_count: policy?.gates.length ?? null,
      scope: policy === undefined || isGlobal(policy.selector) ? 'global' : 'selected',
    })),
  }
}
