import { FormError } from '../reading/form-error.ts'
import { boolean, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { type RecordForm, closedPart, listOf, omit, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'
import type { Signature } from '../signing/sign.ts'
import { type AttestationBinding, type PolicyBinding, attestationBinding, policyBinding } from './decision-bindings.ts'
import { type FreshnessProof, freshnessProofForm } from './freshness-proof.ts'

export type GateResult = { readonly gate_name: string; readonly passed: boolean; readonly detail: string }

/** A signed allow or deny (protocol/trust-operations 4.7). */
export type BoundaryDecision = {
  readonly decision_id: string
  readonly context_id: string
  readonly agreement_id: string
  readonly authorized: boolean
  /** Null exactly when authorized. */
  readonly denial_reason: string | null
  /** In evaluation order. */
  readonly gate_results: readonly GateResult[]
  readonly decision_made_at: string
  readonly decision_valid_until: string
  readonly operator_sovereign_id: string
  readonly freshness_proof: FreshnessProof | null
  readonly policy_binding?: PolicyBinding
  readonly attestation_binding?: AttestationBinding
  readonly signature: Signature | null
}

export const boundaryDecisionForm: RecordForm<BoundaryDecision> = signedOnceForm(
  {
    decision_id: yes(identifier),
    context_id: yes(identifier),
    agreement_id: yes(identifier),
    authorized: yes(boolean),
    denial_reason: orNull(string),
    gate_results: yes(listOf(closedPart({ gate_name: yes(string), passed: yes(boolean), detail: yes(string) })), []),
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
