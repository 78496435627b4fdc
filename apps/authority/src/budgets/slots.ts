import { type BudgetWindow, type Instant, SECOND, instantOf, seconds, windowAt } from '@chancery/protocol'
import { type RawBuilder, sql } from 'kysely'

const BUCKETS = 60n

/** The first instant at which no window counts a slot any more. */
export function keptUntil(window: BudgetWindow, slot: bigint): Instant {
  if (window.kind === 'rolling') return (slot + BUCKETS + 1n) * seconds(window.seconds / Number(BUCKETS))
  return instantOf(windowAt(window, slot * SECOND).until)
}

/** SQL: whether a stored line has a step of a budget. Other lines need not be read. */
export function hasBudget(alias: 'e' | 'j'): RawBuilder<unknown> {
  const line = sql.ref(`${alias}.line`)
  return sql`(${line} like '%"gate_type":"budget.v1"%' or ${line} like '%"gate_type":"TreatyBudgetGate"%')`
}
