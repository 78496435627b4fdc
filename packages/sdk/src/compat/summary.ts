import { type BoundaryDecision, meaningOf, visible } from '@chancery/protocol'

/** Returns one line of text: the decision and its gates. */
export function summarizeDecision(decision: BoundaryDecision): string {
  const failed = decision.gate_results.filter(({ passed }) => !passed)
  const gates = failed.map(({ gate_name, detail }) => `${gate_name} (${detail})`).join(', ')
  // The texts come from an authority, so control characters are escaped for the terminal.
  if (decision.authorized) return visible(`ALLOW ${decision.decision_id} until ${decision.decision_valid_until}`)
  return visible(`DENY ${decision.decision_id}: ${meaningOf(decision)}${gates === '' ? '' : `, failed: ${gates}`}`)
}
