import { FormError, type ReadBy } from '../reading/schema.ts'
import { boolean, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { closedPart, listOf, omit, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'
import { attestationBinding, policyBinding } from './decision-bindings.ts'
import { freshnessProofForm } from './freshness-proof.ts'

const gateResult = closedPart({ gate_name: yes(string), passed: yes(boolean), detail: yes(string) })

export type GateResult = ReadBy<typeof gateResult>

export const boundaryDecisionForm = signedOnceForm(
  {
    decision_id: yes(identifier),
    context_id: yes(identifier),
    agreement_id: yes(identifier),
    authorized: yes(boolean),
    /** Null exactly when authorized. */
    denial_reason: orNull(string),
    /** In evaluation order. */
    gate_results: yes(listOf(gateResult), []),
    decision_made_at: yes(timestamp),
    decision_valid_until: yes(timestamp),
    operator_sovereign_id: yes(identifier),
    freshness_proof: orNull(freshnessProofForm),
    policy_binding: omit(policyBinding),
    attestation_binding: omit(attestationBinding),
  },
  {
    rule: ({ authorized, denial_reason }) => {
      if (authorized !== (denial_reason === null)) throw new FormError('denial_reason', 'null exactly when authorized')
    },
  },
)

/** A signed allow or deny (protocol/trust-operations 4.7). */
export type BoundaryDecision = ReadBy<typeof boundaryDecisionForm>

const ONE_USE_GATES: readonly string[] = ['budget.v1', 'approval.v1']

/**
 * Whether a decision is for one action: it used a budget or an approval, so each request needs its own
 * (protocol/budgets-and-approvals 4).
 */
export function isForOneUse({ gate_results, policy_binding }: BoundaryDecision): boolean {
  return (
    policy_binding?.registry_gate_types.some((type) => ONE_USE_GATES.includes(type)) === true ||
    gate_results.some(({ gate_name }) => gate_name.startsWith('treaty_budget/'))
  )
}
