import { readBudgetConfig } from '../../budgets/budget.ts'
import { runBudget } from '../../budgets/budget-step.ts'
import type { GateType } from './gate.ts'

/** What many requests use together must stay within a limit (protocol/budgets-and-approvals). */
export const budget: GateType = {
  name: 'budget.v1',
  prepare(config) {
    const read = readBudgetConfig(config)
    return (facts, { gate_name }) => {
      const { outcome, text, inputs } = runBudget(read, `policy:${gate_name}`, facts)
      return { outcome, text, path: '', type: 'other', value: undefined, condition: {}, inputs }
    }
  },
  prepareBudget: readBudgetConfig,
}
