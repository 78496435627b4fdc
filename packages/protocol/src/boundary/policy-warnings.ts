import type { BoundaryPolicyIntent, GateSpec } from '../artifacts/boundary-policy.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { readOrUndefined } from '../reading/read-or-undefined.ts'
import { readBudgetConfig } from '../budgets/budget.ts'
import type { Budget } from '../budgets/limits.ts'
import { asJson } from '../signing/verify-any.ts'

/** What an author of a policy should know although the policy is valid. */
export type PolicyWarning = {
  readonly code: 'parent_kind_may_be_omitted' | 'budget_restarts'
  readonly message: string
}

type Authored = Pick<BoundaryPolicyIntent, 'selector' | 'gates'>

/** `active`: the version in force, when there is one. */
export function findPolicyWarnings(intent: Authored, active?: Pick<Authored, 'gates'>): readonly PolicyWarning[] {
  return [...omittedKinds(intent), ...(active === undefined ? [] : restartedBudgets(intent.gates, active.gates))]
}

/**
 * A selector by parent_kinds rests on what the caller of an agreement decision says, and a kind that is left out counts
 * as direct: a policy for `agreement` alone does not bind such a request. The kind attestation is not the caller's word.
 */
function omittedKinds({ selector }: Authored): readonly PolicyWarning[] {
  const said = selector.parent_kinds.filter((kind) => kind !== 'attestation')
  if (said.length === 0) return []
  const effect = said.includes('direct') ? 'and is selected as such' : 'and is not selected'
  return [
    {
      code: 'parent_kind_may_be_omitted',
      message: `parent_kinds: a request that leaves parent_kind out counts as direct ${effect}; NA_REQUIRE_PARENT_KIND=on refuses the omission`,
    },
  ]
}

/** Budgets of the active version that a new version would count from zero: under another id, or with another key. */
function restartedBudgets(next: readonly GateSpec[], active: readonly GateSpec[]): readonly PolicyWarning[] {
  const [wanted, current] = [budgetsOf(next), budgetsOf(active)]
  const isRenamed = [...current.keys()].some((gate_id) => !wanted.has(gate_id))
  return [...wanted].flatMap(([gate_id, key]) => {
    const before = current.get(gate_id)
    const restarts = before === undefined ? isRenamed : before !== key
    if (!restarts) return []
    const message = `${gate_id}: the budget counts from zero, because its gate_id, measure, window or per is new`
    return [{ code: 'budget_restarts' as const, message }]
  })
}

/** By gate id, what decides which counters a budget has. */
function budgetsOf(gates: readonly GateSpec[]): ReadonlyMap<string, string> {
  const keyOf = ({ measure, window, per }: Budget): string => canonicalJson({ measure, window: asJson(window), per })
  return new Map(
    gates.flatMap(({ gate_id, gate_type, config }) => {
      const budget = gate_type === 'budget.v1' ? readOrUndefined(() => readBudgetConfig(config)) : undefined
      return budget === undefined ? [] : [[gate_id, keyOf(budget)] as const]
    }),
  )
}
