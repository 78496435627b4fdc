import {
  basisEnd,
  boundaryDecisionForm,
  draftBoundaryDecision,
  draftJustification,
  evaluateBoundary,
  justificationForm,
} from '@chancery/protocol'
import type {
  AttestationBasis,
  AttestationBinding,
  BoundaryDecision,
  ContextRecord,
  Evaluation,
  JsonObject,
} from '@chancery/protocol'
import { jsonText } from '@chancery/service-kit'
import type { HttpResponse } from '@chancery/service-kit'
import { requestDetails } from '../../audit/record.ts'
import type { AuditEvent } from '../../audit/record.ts'
import type { OperatorCall } from '../../auth/operator.ts'
import type { BoundaryParts } from './parts.ts'
import { readAttempt } from '../../requests/idempotency.ts'
import { resolveBasis } from './basis.ts'
import { readEvaluateRequest } from './requests.ts'

/**
 * POST /admin/boundary/evaluate
 * Decides under the active policies. A denial is a signed 201 response. Only a malformed request, or an agreement that
 * is not trusted, is refused.
 */
export async function evaluate(call: OperatorCall, parts: BoundaryParts): Promise<HttpResponse> {
  const request = readEvaluateRequest(call.body)
  parts.signing.requireAllowed()
  const { basis, contextAt } = await resolveBasis(call, parts, request)
  const policies = await parts.boundaryPolicies.active.read()
  const now = parts.clock.now()
  const context = contextAt(now)
  const evaluation = evaluateBoundary({ basis, context, policies, now })
  const { resolution_failure } = evaluation.policy_binding
  if (resolution_failure !== null)
    parts.log.warn('a decision was denied by the state of the policies', {
      request_id: call.requestId,
      resolution_failure,
    })
  const draft = draftBoundaryDecision({
    decision_id: parts.ids.uuid(),
    context,
    run: evaluation,
    operator_sovereign_id: parts.network.name,
    basisEnds: basisEnd(basis),
    policy_binding: evaluation.policy_binding,
    ...(basis.kind === 'attestation' ? { attestation_binding: bindAttestation(basis) } : {}),
  })
  const { record: decision, text: decisionText } = await parts.signing.signFormText(boundaryDecisionForm, draft)
  const traced = { proof_id: parts.ids.uuid(), trace_id: parts.ids.uuid(), decision, run: evaluation }
  const { record: proof, text: proofText } = await parts.signing.signFormText(
    justificationForm,
    draftJustification(traced),
  )
  const event = decisionMade(call, context, decision, evaluation)
  const text = `{"decision":${decisionText},"justification_proof":${proofText}}`
  // Stored before the response is sent: every decision that leaves must be found later.
  const stored = await parts.evidence.recordDecision({
    decision,
    context,
    proof,
    events: [event],
    attempt: readAttempt(call, now),
    answer: { status: 201, text },
  })
  return jsonText(stored.text, stored.status)
}

/** The basis that was read, also when it could not be used. */
function bindAttestation(basis: AttestationBasis): AttestationBinding {
  return {
    attestation_id: basis.attestation_id,
    subject_id: basis.attestation?.subject_id ?? null,
    issuer_sovereign_id: basis.attestation?.issuer_sovereign_id ?? null,
    attestation_digest: basis.attestation_digest,
    revocation_seq_checked: basis.revocation_seq_checked,
  }
}

/** Ids, names and codes; never a parameter, an attribute, a claim or another fact (protocol/trust-operations 11). */
function decisionMade(
  call: OperatorCall,
  context: ContextRecord,
  decision: BoundaryDecision,
  { policy_binding, steps }: Evaluation,
): AuditEvent {
  const { decision_id, context_id, agreement_id, authorized, denial_reason, attestation_binding } = decision
  const rules: JsonObject = {
    applied_policies: policy_binding.policies.map((each) => `${each.policy_id}@${each.version}`),
    failed_gates: steps.filter((step) => !step.passed).map((step) => step.gate_name),
  }
  const { requested_capability, requester_sovereign_id } = context
  if (attestation_binding === undefined) {
    const { resolution_status, resolution_failure } = policy_binding
    const named = { decision_id, context_id, agreement_id, requested_capability, authorized }
    const details = { ...named, ...rules, resolution_status, resolution_failure, ...requestDetails(call) }
    return { type: 'boundary_policy_decision_made', details }
  }
  const { attestation_id, subject_id, revocation_seq_checked } = attestation_binding
  const named = { decision_id, context_id, attestation_id, subject_id, requester_sovereign_id, requested_capability }
  const details = { ...named, authorized, denial_reason, revocation_seq_checked, ...rules, ...requestDetails(call) }
  return { type: 'boundary_attestation_decision_made', details }
}
