import { type BudgetUse, isJsonObject } from '@chancery/protocol'
import type { AuditEvent } from '../audit/record.ts'

const WARNED = 1
const EXHAUSTED = 2

/** Events of a use that passes a threshold: once for each counter and window. They have no amount. */
export function budgetNotice(
  { budget_key, source, asked, limit, used_before, inputs }: BudgetUse,
  sum: { reported: number },
  warningPercent: number,
): readonly AuditEvent[] {
  const percent = Number(((used_before + asked) * 100n) / limit)
  const level = percent >= 100 ? EXHAUSTED : percent >= warningPercent ? WARNED : 0
  const { window } = inputs
  const name = isJsonObject(window) ? (window['name'] ?? null) : null
  const details = { source, budget_key, window: name, percent }
  const events: AuditEvent[] = []
  if (level >= WARNED && sum.reported < WARNED) events.push({ type: 'budget_warning', details })
  if (level >= EXHAUSTED && sum.reported < EXHAUSTED) events.push({ type: 'budget_exhausted', details })
  sum.reported = Math.max(sum.reported, level)
  return events
}
