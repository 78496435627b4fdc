import type { FactPath } from '../boundary/facts.ts'
import type { JsonObject } from '../canonical/utf8.ts'
import type { Amount } from './amounts.ts'
import type { BudgetWindow } from './windows.ts'

export const PER = ['requester', 'subject', 'node'] as const
export type Per = (typeof PER)[number]

/** What a budget of a policy and one of a treaty have in common (protocol/budgets-and-approvals 1). */
export interface Budget {
  /** As it was written: record and key have it. */
  readonly measure: JsonObject
  readonly scale: number
  /** Undefined for a count. */
  readonly path: FactPath | undefined
  readonly unitPath: FactPath | undefined
  readonly window: BudgetWindow
  /** By unit; null for the only limit of a budget without units. */
  readonly limits: ReadonlyMap<string | null, Amount>
  readonly per: readonly Per[]
  readonly match: BudgetMatch
  readonly counts: 'on_allow' | 'on_execution'
  readonly settle: BudgetSettle | null
  readonly visible: boolean
}

export interface BudgetMatch {
  readonly requesters?: readonly string[]
  readonly subjects?: readonly string[]
  readonly nodes?: readonly string[]
  readonly treaty_ids?: readonly string[]
  readonly capabilities?: readonly string[]
}

export interface BudgetSettle {
  readonly executors: readonly string[]
  readonly seconds: number
}

/** A budget of a treaty, with the patterns it grants. */
export interface TreatyBudget extends Budget {
  readonly budget_id: string
  readonly capabilities: readonly string[]
}
