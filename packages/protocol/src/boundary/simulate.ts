import { type BoundaryPolicy, boundaryPolicyDigest } from '../artifacts/boundary-policy.ts'
import { type ApprovalFacts, NO_APPROVAL } from '../approvals/found-approval.ts'
import type { Instant } from '../canonical/time.ts'
import type { SimulatedCounters } from '../budgets/simulated-counters.ts'
import { concludeSteps, evaluatePolicies } from './evaluate.ts'
import type { Facts } from './facts.ts'
import { type CheckedPolicy, preparePolicy } from './policy-set.ts'

/** What one set of policies makes of a request. */
export type SimulatedVerdict = { readonly authorized: boolean; readonly denial_reason: string | null }

/** newly_held: a person would be asked, who is not asked now. */
export type SimulatedChange = 'unchanged' | 'newly_allowed' | 'newly_denied' | 'newly_held'

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
  const simulateOne = (policies: readonly CheckedPolicy[], budgets?: SimulatedCounters): SimulatedState => {
    const known = { ...facts, approvals: NOT_ASKED, ...(budgets === undefined ? {} : { budgets }) }
    const { steps } = evaluatePolicies(policies, known, now, { policyRequired })
    const { authorized, denial_reason } = concludeSteps(steps)
    const denials = steps.filter(({ denial }) => denial !== undefined)
    const isHeld = denials.length > 0 && denials.every(({ metadata }) => metadata['outcome'] === 'pending')
    // A held request reserves what it asks for.
    if (authorized || isHeld) budgets?.count(steps, now)
    return { verdict: { authorized, denial_reason }, isHeld }
  }
  const active = simulateOne(sets.active, counters?.active)
  const candidate = simulateOne(sets.candidate, counters?.candidate)
  return { active: active.verdict, candidate: candidate.verdict, change: changeOf(active, candidate) }
}

interface SimulatedState {
  readonly verdict: SimulatedVerdict
  readonly isHeld: boolean
}

function changeOf(active: SimulatedState, candidate: SimulatedState): SimulatedChange {
  if (candidate.isHeld && !active.isHeld) return 'newly_held'
  if (active.verdict.authorized === candidate.verdict.authorized) return 'unchanged'
  return candidate.verdict.authorized ? 'newly_allowed' : 'newly_denied'
}

/** A simulation opens nothing: every request that needs a person is held, and no use came before it. */
const NOT_ASKED: ApprovalFacts = { uses: new Map(), found: { outcome: 'required', shown: NO_APPROVAL } }
