import type { ApprovalStatus } from '@chancery/contract'
import {
  asJson,
  basisEnd,
  boundaryDecisionForm,
  canonicalJson,
  draftBoundaryDecision,
  draftJustification,
  justificationForm,
  writeJson,
} from '@chancery/protocol'
import type {
  Attestation,
  AttestationBasis,
  AttestationBinding,
  BoundaryBasis,
  BoundaryDecision,
  ContextRecord,
  Evaluation,
  Instant,
  JsonObject,
  PresentedBasis,
} from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { type AuditEvent, requestDetails } from '../../audit/record.ts'
import type { NonceClaim } from '../../auth/nonces.ts'
import type { BasisVersion } from '../../database/locks/decision-basis.ts'
import type { Asker } from '../../metrics.ts'
import type { Attempt } from '../../requests/idempotency.ts'
import type { ApprovalAsking } from '../approvals/index.ts'
import type { ByteOwner, SignedItem } from '../evidence/index.ts'
import type { ResolvedBasis } from './basis.ts'
import type { BoundaryState } from './context.ts'

/** A question that was read and may be decided. */
export interface Question extends ResolvedBasis {
  /** Read before the basis. */
  readonly basisVersion: BasisVersion
  /** Reads the basis again, with everything that can refuse the request. */
  readonly resolveAgain: () => Promise<ResolvedBasis>
  readonly asked_by: Asker
  /** Whose share of the engines and other systems it uses. */
  readonly caller: string
  /** Names for the audit event. */
  readonly named?: JsonObject
  readonly attempt: (now: Instant) => Attempt | undefined
  /** Whether the response has the context, with which the caller can compute its digest. */
  readonly showsContext: boolean
  /** The resource whose head an authorized response has. */
  readonly resource_id?: string | undefined
  /** Who asks, and the approval that the request names. */
  readonly approvalAsking: Omit<ApprovalAsking, 'attestation' | 'resource_id'>
  readonly callerNonce?: NonceClaim
  /** Whose bytes of the day the stored decision uses. */
  readonly owner: ByteOwner
}

/** An evaluated request, ready to be signed. */
export interface Evaluated {
  readonly decision_id: string
  readonly basis: BoundaryBasis
  readonly context: ContextRecord
  readonly evaluation: Evaluation
  /** The end of the chain of its resource, read before. */
  readonly head: NamedHead
  /** The approval that a step names, as it is after the decision. */
  readonly approval?: ApprovalStatus | undefined
}

/** Null: the resource has none yet. Undefined: the answer has none. */
type NamedHead = Awaited<ReturnType<BoundaryState['evidence']['findResourceHead']>> | null

/** Signs decision and justification at the same time. Reads and writes no database: it may run under locks. */
export async function signDecision(
  call: Call,
  parts: BoundaryState,
  question: Question,
  { decision_id, basis, context, evaluation, head, approval }: Evaluated,
): Promise<SignedItem> {
  const draft = draftBoundaryDecision({
    decision_id,
    context,
    run: evaluation,
    operator_sovereign_id: parts.network.name,
    basisEnds: basisEnd(basis),
    policy_binding: evaluation.policy_binding,
    ...(basis.kind === 'agreement' ? {} : { attestation_binding: bindAttestation(basis) }),
  })
  const traced = { proof_id: parts.ids.uuid(), trace_id: parts.ids.uuid(), decision: draft, run: evaluation }
  const [decision, proof] = await Promise.all([
    parts.signing.signFormText(boundaryDecisionForm, draft),
    parts.signing.signFormText(justificationForm, draftJustification(traced)),
  ])
  // In canonical form, as the store has it: a repeat of the answer takes it from there.
  const shown = question.showsContext ? `,"context":${canonicalJson(asJson(context))}` : ''
  const named = approval === undefined ? '' : `,"approval":${canonicalJson(asJson(approval))}`
  // Not signed: a caller that needs stored decisions asks its authority over TLS.
  const kept = `,"decision_stored":${parts.settings.evidenceStore}`
  const pair = `"decision":${decision.text},"justification_proof":${proof.text}`
  const text = `{${pair}${shown}${named}${headText(draft, head)}${kept}}`
  const signed = signedAttestation(basis)
  return {
    decision: decision.record,
    context,
    proof: proof.record,
    texts: { decision: decision.whole, proof: proof.whole },
    // Only what its issuer signed: anything else proves nothing about the decision.
    ...(signed === undefined ? {} : { attestation: canonicalJson(asJson(signed)) }),
    events: [decisionMade(call, context, decision.record, evaluation, { ...question, basis })],
    answer: { status: 201, text },
  }
}

/** The attestation of a partner that a key of a treaty signed. */
function signedAttestation(basis: BoundaryBasis): Attestation | undefined {
  return basis.kind === 'presented' && basis.isSigned ? basis.attestation : undefined
}

/** A partner counts for what it signed, from any caller, and not for an attestation that only names it. */
export function ownersOf({ owner }: Question, basis: BoundaryBasis): readonly ByteOwner[] {
  const signed = signedAttestation(basis)
  return signed === undefined ? [owner] : [owner, { kind: 'partner', name: signed.issuer_sovereign_id }]
}

/** With it, an executor without an operator key can continue the chain of a resource. */
export async function findHead(parts: BoundaryState, { resource_id }: Question): Promise<NamedHead> {
  if (resource_id === undefined || !parts.settings.evidenceStore) return undefined
  return (await parts.evidence.findResourceHead(resource_id)) ?? null
}

function headText({ authorized }: BoundaryDecision, head: NamedHead): string {
  return head === undefined || !authorized ? '' : `,"resource_head":${writeJson(head)}`
}

/** The basis that was read, also when it could not be used. */
function bindAttestation(basis: AttestationBasis | PresentedBasis): AttestationBinding {
  const { attestation, attestation_digest, revocation_seq_checked } = basis
  return {
    attestation_id: basis.kind === 'attestation' ? basis.attestation_id : basis.attestation.attestation_id,
    subject_id: attestation?.subject_id ?? null,
    issuer_sovereign_id: attestation?.issuer_sovereign_id ?? null,
    attestation_digest,
    revocation_seq_checked,
  }
}

/** Ids, names and codes; never a parameter, an attribute, a claim or another fact (protocol/trust-operations 11). */
function decisionMade(
  call: Call,
  context: ContextRecord,
  decision: BoundaryDecision,
  { policy_binding, steps }: Evaluation,
  { basis, asked_by, named: caller = {} }: Question,
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
  const { attestation_id, subject_id, issuer_sovereign_id, revocation_seq_checked } = attestation_binding
  const treaty = basis.kind === 'presented' ? basis.treaty : undefined
  const details = {
    decision_id,
    context_id,
    attestation_id,
    subject_id,
    requester_sovereign_id,
    requested_capability,
    authorized,
    denial_reason,
    revocation_seq_checked,
    ...rules,
    asked_by,
    ...(issuer_sovereign_id === null ? {} : { issuer_sovereign_id }),
    ...(treaty === undefined ? {} : { treaty_id: treaty.treaty_id }),
    ...caller,
    ...requestDetails(call),
  }
  return { type: 'boundary_attestation_decision_made', details }
}
