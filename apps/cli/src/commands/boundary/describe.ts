import { type BoundaryDecision, type JsonObject, visible } from '@chancery/protocol'
import { type Result, type Style, fields } from '../../output/screen.ts'

/** The result of a command that returns a decision. The exit code is 1 for a denial. */
export function decisionResult(
  decision: BoundaryDecision,
  { data, saved, style }: { readonly data: JsonObject; readonly saved: string; readonly style: Style },
): Result {
  const text = `${decisionText(decision, style)}${saved}`
  return { data, ids: [decision.decision_id], text, exitCode: decision.authorized ? 0 : 1 }
}

/** Returns a decision as text: the outcome, then its fields and gates. */
export function decisionText(decision: BoundaryDecision, style: Style): string {
  const { authorized, denial_reason } = decision
  const title = authorized ? style.good('Allowed.') : style.bad(`Denied: ${visible(denial_reason ?? '')}`)
  return `${title}\n${describeDecision(decision, style)}`
}

/** Returns a decision as text, with its gates. */
function describeDecision(decision: BoundaryDecision, style: Style): string {
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
