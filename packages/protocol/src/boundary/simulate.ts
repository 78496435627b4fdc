import { type BoundaryPolicy, boundaryPolicyDigest } from '../artifacts/boundary-policy.ts'
import type { Instant } from '../canonical/time.ts'
import type { SimulatedCounters } from '../budgets/simulated-counters.ts'
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
    /** The counters of each set. What a set allows is counted for later requests. Without them a budget denies. */
    readonly counters?: { readonly active: SimulatedCounters; readonly candidate: SimulatedCounters }
  },
  facts: Facts,
  now: Instant,
): SimulatedCase {
  const { policyRequired = false, counters } = sets
  const simulateOne = (policies: readonly CheckedPolicy[], budgets?: SimulatedCounters): SimulatedVerdict => {
    const known = budgets === undefined ? facts : { ...facts, budgets }
    const { steps } = evaluatePolicies(policies, known, now, { policyRequired })
    const { authorized, denial_reason } = concludeSteps(steps)
    if (authorized) budgets?.count(steps, now)
    return { authorized, denial_reason }
  }
  const active = simulateOne(sets.active, counters?.active)
  const candidate = simulateOne(sets.candidate, counters?.candidate)
  const isSame = active.authorized === candidate.authorized
  return { active, candidate, change: isSame ? 'unchanged' : candidate.authorized ? 'newly_allowed' : 'newly_denied' }
}
