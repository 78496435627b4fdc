import type { ReadBy } from '../reading/schema.ts'
import { object, string } from '../reading/shape.ts'
import { digest, identifier, timestamp } from '../reading/text.ts'
import { closedPart, listOf, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'

const TYPE = 'chancery.budget-status.v1'

/** A counter in its present window. Amounts are decimals with the fraction digits of the measure. */
const budget = closedPart({
  budget_key: yes(digest),
  source: yes(string),
  measure: yes(object),
  per: yes(object),
  unit: orNull(string),
  window: yes(closedPart({ name: yes(string), from: yes(timestamp), until: yes(timestamp) })),
  limit: yes(string),
  counts: yes(string),
  used: yes(string),
  reserved: yes(string),
  remaining: yes(string),
})

export type BudgetView = ReadBy<typeof budget>

export const budgetStatusForm = signedOnceForm({
  type: yes(string),
  sovereign_id: yes(identifier),
  /** Issuer and subject of the attestation that asked. */
  asked_for: yes(listOf(string, { min: 2, max: 2 })),
  as_of: yes(timestamp),
  budgets: yes(listOf(budget)),
  issued_by: yes(identifier),
})

/** What a member may still use, signed by the authority that limits it. */
export type BudgetStatus = ReadBy<typeof budgetStatusForm>

export function draftBudgetStatus(facts: Omit<BudgetStatus, 'type' | 'signature'>): BudgetStatus {
  return { type: TYPE, ...facts, signature: null }
}
