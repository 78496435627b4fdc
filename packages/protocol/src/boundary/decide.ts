import type { BoundaryDecision, GateResult } from '../artifacts/boundary-decision.ts'
import type { ContextRecord } from '../artifacts/context-record.ts'
import type { AttestationBinding, PolicyBinding } from '../artifacts/decision-bindings.ts'
import { type FreshnessProof, PROOF_LIFETIME_SECONDS } from '../artifacts/freshness-proof.ts'
import type { JustificationProof } from '../artifacts/justification-proof.ts'
import { type Instant, seconds } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import { instantOf } from '../reading/text.ts'
import { concludeRun, runAgreementGates } from './agreement-gates.ts'
import type { AgreedTerms, DemandedFreshness, GateRun, GateStep } from './agreement-gates.ts'

/** A decision on the agreement alone, without policies (protocol/trust-operations 4.5). */
export function decideOnAgreement(context: ContextRecord, terms: AgreedTerms, demanded?: DemandedFreshness): GateRun {
  return concludeRun(runAgreementGates(context, terms, demanded))
}

export interface DecisionFacts {
  readonly decision_id: string
  readonly context: ContextRecord
  readonly run: GateRun
  readonly operator_sovereign_id: string
  /** Until when the agreement or the attestation holds; undefined where there is none. */
  readonly basisEnds: Instant | undefined
  readonly freshness_proof?: FreshnessProof
  readonly policy_binding?: PolicyBinding
  readonly attestation_binding?: AttestationBinding
}

/** The unsigned decision (protocol/trust-operations 4.7). Bindings that are absent leave no key behind. */
export function draftBoundaryDecision(facts: DecisionFacts): BoundaryDecision {
  const { context, run, policy_binding, attestation_binding } = facts
  return {
    decision_id: facts.decision_id,
    context_id: context.context_id,
    agreement_id: context.agreement_id,
    authorized: run.authorized,
    denial_reason: run.denial_reason,
    gate_results: gateResults(run.steps),
    decision_made_at: context.requested_at,
    decision_valid_until: decisionEnd(context, run, facts.basisEnds),
    operator_sovereign_id: facts.operator_sovereign_id,
    freshness_proof: facts.freshness_proof ?? null,
    ...(policy_binding === undefined ? {} : { policy_binding }),
    ...(attestation_binding === undefined ? {} : { attestation_binding }),
    signature: null,
  }
}

/** In evaluation order; a failure that is only observed says so. */
export function gateResults(steps: readonly GateStep[]): readonly GateResult[] {
  return steps.map(({ gate_name, passed, reason, isObserved }) => ({
    gate_name,
    passed,
    detail: isObserved ? `[observe] ${reason}` : reason,
  }))
}

/** Until when a decision is valid. A grant never outlives what it rests on. */
export function decisionEnd(
  { requested_at }: Pick<ContextRecord, 'requested_at'>,
  { authorized }: Pick<GateRun, 'authorized'>,
  basisEnds: Instant | undefined,
): string {
  const usual = instantOf(requested_at) + seconds(PROOF_LIFETIME_SECONDS)
  return writeInstant(authorized && basisEnds !== undefined && basisEnds < usual ? basisEnds : usual)
}

/** The unsigned account of a decision (protocol/trust-operations 4.9): same gates, same order, same instant. */
export function draftJustification(facts: {
  readonly proof_id: string
  readonly trace_id: string
  readonly decision: BoundaryDecision
  readonly run: GateRun
}): JustificationProof {
  const { decision, run } = facts
  const { decision_id, agreement_id, operator_sovereign_id, decision_made_at } = decision
  return {
    proof_id: facts.proof_id,
    decision_id,
    trace: {
      trace_id: facts.trace_id,
      decision_id,
      agreement_id,
      operator_sovereign_id,
      traced_at: decision_made_at,
      entries: run.steps.map(({ gate_name, gate_type, inputs, passed, reason, metadata }) => ({
        gate_name,
        gate_type,
        evaluated_at: decision_made_at,
        inputs,
        result: passed,
        reason,
        metadata,
      })),
      short_circuited_at: run.short_circuited_at,
      final_authorized: run.authorized,
    },
    proof_issued_at: decision_made_at,
    issuer_sovereign_id: operator_sovereign_id,
    signature: null,
  }
}
