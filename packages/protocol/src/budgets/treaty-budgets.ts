import type { GateStep } from '../boundary/agreement-gates.ts'
import type { Facts } from '../boundary/facts.ts'
import { namesCapability } from '../boundary/selector.ts'
import { type JsonValue, isJsonObject, member } from '../canonical/utf8.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import { FormError } from '../reading/schema.ts'
import { type BudgetReading, runBudget } from './budget-step.ts'
import { readTreatyBudget } from './budget.ts'
import type { TreatyBudget } from './limits.ts'

export const MAX_TREATY_BUDGETS = 16

/** The gate name of a treaty budget begins so. */
export const TREATY_BUDGET = 'treaty_budget/'

/** `treaty:<partner>/<budget_id>`: the partner and not the treaty, so that a replaced treaty continues the count. */
export function treatySource(partner: string, budget_id: string): string {
  return `treaty:${partner}/${budget_id}`
}

/**
 * The budgets of a treaty (protocol/budgets-and-approvals 7); an empty list without the claim. Null when the claim has
 * another form, and then the treaty grants nothing.
 */
export function treatyBudgets({ claims }: { readonly claims: JsonObject }): readonly TreatyBudget[] | null {
  const given = member(claims, 'budgets')
  if (given === undefined) return []
  if (!Array.isArray(given) || given.length === 0 || given.length > MAX_TREATY_BUDGETS) return null
  try {
    const budgets = (given as readonly JsonValue[]).map((each, at) => readTreatyBudget(each, `budgets[${at}]`))
    const ids = new Set(budgets.map(({ budget_id }) => budget_id))
    return ids.size === budgets.length && given.every(isJsonObject) ? budgets : null
  } catch (error) {
    if (error instanceof FormError) return null
    throw error
  }
}

/** Whether one of two capability patterns names something that the other names, too. */
export function overlaps(a: string, b: string): boolean {
  const covers = (pattern: string, other: string): boolean =>
    pattern.endsWith('.*') ? other.startsWith(pattern.slice(0, -1)) : pattern === other
  return covers(a, b) || covers(b, a)
}

/** Those of the budgets of a treaty that limit a request. */
export function budgetsFor(budgets: readonly TreatyBudget[], capability: string): readonly TreatyBudget[] {
  return budgets.filter(({ capabilities }) => namesCapability(capabilities, capability))
}

/** Runs all of them. Each denies like a built-in gate. */
export function runTreatyBudgets(budgets: readonly TreatyBudget[], partner: string, facts: Facts): readonly GateStep[] {
  return budgets.map((budget) =>
    toStep(budget.budget_id, runBudget(budget, treatySource(partner, budget.budget_id), facts)),
  )
}

/** Without the words by which readers of a denial recognise an attestation, a capability or freshness. */
function toStep(budget_id: string, { outcome, text, inputs }: BudgetReading): GateStep {
  const denial = outcome === 'fail' ? 'treaty budget exceeded' : 'treaty budget not applicable'
  return {
    gate_name: `${TREATY_BUDGET}${budget_id}`,
    gate_type: 'TreatyBudgetGate',
    passed: outcome === 'pass',
    reason: text,
    inputs,
    metadata: { outcome },
    denial: outcome === 'pass' ? undefined : denial,
    isObserved: false,
  }
}
