import type { BoundaryDecision } from '@chancery/protocol'
import type { Style } from '../../output/style.ts'
import { fields } from '../../output/table.ts'

/** Returns a decision as text, with its gates. */
export function describeDecision(decision: BoundaryDecision, style: Style): string {
  return fields(
    [
      ['decision', decision.decision_id],
      ['basis', decision.agreement_id],
      ['context', decision.context_id],
      ['valid', `${decision.decision_made_at} to ${decision.decision_valid_until}`],
      ...decision.gate_results.map(
        ({ gate_name, passed, detail }) => [gate_name, `${passed ? 'passed' : 'failed'}: ${detail}`] as const,
      ),
    ],
    style,
  )
}
