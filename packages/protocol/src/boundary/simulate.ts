import { type BoundaryPolicy, boundaryPolicyDigest } from '../artifacts/boundary-policy.ts'
import type { Instant } from '../canonical/time.ts'
import { concludeSteps, evaluatePolicies } from './evaluate.ts'
import type { Facts } from './facts.ts'
import { type CheckedPolicy, preparePolicy } from './policy-set.ts'

/** What one set of policies makes of a request. */
export type SimulatedVerdict = { readonly authorized: boolean; readonly denial_reason: string | null }

export type SimulatedChange = 'unchanged' | 'newly_allowed' | 'newly_denied'

/** One request under two sets of policies. */
export interface SimulatedCase {
  readonly change: SimulatedChange
  readonly active: SimulatedVerdict
  readonly candidate: SimulatedVerdict
}

/** The active set as it would be with this policy in force. The policy need not be signed: nothing is decided by it. */
export function candidateSet(active: readonly CheckedPolicy[], policy: BoundaryPolicy): readonly CheckedPolicy[] {
  const { policy_id, version } = policy
  const candidate: CheckedPolicy = {
    policy_id,
    version,
    policy_digest: boundaryPolicyDigest(policy),
    policy,
    problem: undefined,
    ready: preparePolicy(policy),
  }
  return [...active.filter((each) => each.policy_id !== policy_id), candidate]
}

/**
 * How a change of policies would change one answer. The built-in gates are left out: no policy can alter them, so a
 * request that its basis does not allow is denied under both sets.
 */
export function simulateCase(
  sets: {
    readonly active: readonly CheckedPolicy[]
    readonly candidate: readonly CheckedPolicy[]
    /** As in a decision: a request to which no policy applies is denied. */
    readonly policyRequired?: boolean
  },
  facts: Facts,
  now: Instant,
): SimulatedCase {
  const { policyRequired = false } = sets
  const simulateOne = (policies: readonly CheckedPolicy[]): SimulatedVerdict => {
    const { authorized, denial_reason } = concludeSteps(
      evaluatePolicies(policies, facts, now, { policyRequired }).steps,
    )
    return { authorized, denial_reason }
  }
  const [active, candidate] = [simulateOne(sets.active), simulateOne(sets.candidate)]
  const isSame = active.authorized === candidate.authorized
  return { active, candidate, change: isSame ? 'unchanged' : candidate.authorized ? 'newly_allowed' : 'newly_denied' }
}
