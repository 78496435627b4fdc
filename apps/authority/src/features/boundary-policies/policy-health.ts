import { findSetProblems, isGlobal } from '@chancery/protocol'
import { toDisplay } from '../../pages/display-time.ts'
import type { BoundaryPoliciesState } from './state.ts'

export type PolicySetView = {
  readonly enforcement: string
  readonly healthy: boolean
  readonly status: 'healthy' | 'unhealthy'
  readonly problem_count: number
  readonly active: readonly {
    readonly policy_id: string
    readonly version: number
    readonly valid_until_display: string | null
    readonly gate_count: number | null
    readonly scope: 'global' | 'selected'
  }[]
}

/**
 * The active set for public pages: ids, expiry and counts. Selectors and limits are left out, because they show how to
 * evade them.
 */
export async function describePolicySet(parts: BoundaryPoliciesState): Promise<PolicySetView> {
  const set = await parts.active.read()
  const problems = findSetProblems(set, parts.clock.now())
  const healthy = problems.length === 0
  return {
    enforcement: parts.settings.boundaryPolicyEnforcement,
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
