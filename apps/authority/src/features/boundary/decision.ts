import { Refusal, SERVER_LIMITS } from '@chancery/contract'
import {
  asJson,
  basisEnd,
  boundaryDecisionForm,
  boundaryQuestions,
  canonicalJson,
  draftBoundaryDecision,
  draftJustification,
  evaluateBoundary,
  justificationForm,
  writeJson,
} from '@chancery/protocol'
import type {
  AskedQuestion,
  Attestation,
  AttestationBasis,
  AttestationBinding,
  BoundaryBasis,
  BoundaryDecision,
  ContextRecord,
  EngineAnswers,
  Evaluation,
  Instant,
  JsonObject,
  PresentedBasis,
} from '@chancery/protocol'
import { type Call, type HttpResponse, jsonText } from '@chancery/service-kit'
import { type AuditEvent, requestDetails } from '../../audit/record.ts'
import type { NonceClaim } from '../../auth/nonces.ts'
import type { Asker } from '../../metrics.ts'
import type { BasisVersion } from '../../database/locks/decision-basis.ts'
import type { Attempt } from '../../requests/idempotency.ts'
import { type BoundaryState, countDecision } from './context.ts'
import type { ResolvedBasis } from './basis.ts'
import type { ByteOwner } from '../evidence/index.ts'
import { untilStored } from './until-stored.ts'

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
  readonly callerNonce?: NonceClaim
  /** Whose bytes of the day the stored decision uses. */
  readonly owner: ByteOwner
}

/** Decides under the active policies, signs, and stores decision and audit event before the response is sent. */
export async function decideAndStore(call: Call, parts: BoundaryState, question: Question): Promise<HttpResponse> {
  const asking: Asking = { began: performance.now(), answered: undefined }
  return untilStored(
    question,
    () => readAgain(parts, question),
    (read) => decideOnce(call, parts, read, asking),
  )
}

async function readAgain(parts: BoundaryState, question: Question): Promise<Question> {
  const basisVersion = await parts.evidence.basisVersion()
  return { ...question, ...(await question.resolveAgain()), basisVersion }
}

async function decideOnce(call: Call, parts: BoundaryState, question: Question, asking: Asking): Promise<HttpResponse> {
  const { basis, context, evaluation, basisVersion } = await evaluateAsked(parts, question, asking)
  const { resolution_failure } = evaluation.policy_binding
  // A request that no policy covers is the caller's matter.
  if (resolution_failure !== null && resolution_failure !== 'no_policy_applied')
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
    ...(basis.kind === 'agreement' ? {} : { attestation_binding: bindAttestation(basis) }),
  })
  const {
    record: decision,
    text: decisionText,
    whole: decisionWhole,
  } = await parts.signing.signFormText(boundaryDecisionForm, draft)
  const traced = { proof_id: parts.ids.uuid(), trace_id: parts.ids.uuid(), decision, run: evaluation }
  const drafted = draftJustification(traced)
  const {
    record: proof,
    text: proofText,
    whole: proofWhole,
  } = await parts.signing.signFormText(justificationForm, drafted)
  // In canonical form, as the store has it: a repeat of the answer takes it from there.
  const shown = question.showsContext ? `,"context":${canonicalJson(asJson(context))}` : ''
  const head = await headOf(parts, question, decision)
  // Not signed: a caller that needs stored decisions asks its authority over TLS.
  const storedMember = `,"decision_stored":${parts.settings.evidenceStore}`
  const text = `{"decision":${decisionText},"justification_proof":${proofText}${shown}${head}${storedMember}}`
  const signed = basis.kind === 'presented' && basis.isSigned ? basis.attestation : undefined
  const stored = await parts.evidence.recordDecision({
    decision,
    context,
    proof,
    texts: { decision: decisionWhole, proof: proofWhole },
    // Only what its issuer signed: anything else proves nothing about the decision.
    ...(signed === undefined ? {} : { attestation: canonicalJson(asJson(signed)) }),
    events: [decisionMade(call, context, decision, evaluation, { ...question, basis })],
    basisVersion,
    attempt: question.attempt(parts.clock.now()),
    callerNonce: question.callerNonce,
    // A partner counts for what it signed, from any caller, and not for an attestation that only names it.
    owners: [question.owner, ...(signed === undefined ? [] : [partnerOwner(signed)])],
    answer: { status: 201, text },
  })
  if (stored.text === text) countDecision(parts, question.asked_by, decision, basis.kind === 'presented')
  return jsonText(stored.text, stored.status)
}

function partnerOwner({ issuer_sovereign_id: name }: Attestation): ByteOwner {
  return { kind: 'partner', name }
}

interface Evaluated {
  readonly basis: BoundaryBasis
  readonly context: ContextRecord
  readonly evaluation: Evaluation
  readonly basisVersion: BasisVersion
}

/** What other systems answered. Each is asked once, also when the decision is made again. */
interface Asking {
  readonly began: number
  answered: { readonly answers: EngineAnswers; readonly now: Instant; readonly context_id: string } | undefined
}

/**
 * Other systems are asked first, so that the decision itself depends on its inputs alone. Their answers take time, in
 * which a revocation or a change of the policies may be stored. So the state that denies is read after them. A gate or
 * a fact that is new then was not asked about, which denies.
 */
async function evaluateAsked(parts: BoundaryState, question: Question, asking: Asking): Promise<Evaluated> {
  const policyRequired = parts.settings.boundaryPolicyEnforcement === 'required'
  let read = question
  if (asking.answered === undefined) {
    const { basis, basisVersion } = question
    const policies = await parts.boundaryPolicies.active.read()
    const now = parts.clock.now()
    const context = question.contextAt(now)
    const first = { basis, context, policies, policyRequired, now }
    const asked = boundaryQuestions(first)
    if (asked.length === 0) return { basis, context, evaluation: evaluateBoundary(first), basisVersion }
    const answers = await askGates(parts, asked, question.caller)
    asking.answered = { answers, now, context_id: context.context_id }
    read = await readAgain(parts, question)
  }
  // The caller has its response by now: it must not get a decision that it never sees.
  if (performance.now() - asking.began >= SERVER_LIMITS.handlerDeadlineSeconds * 1000)
    throw new Refusal('service_unavailable', { reason: 'deadline' })
  const { answers, now, context_id } = asking.answered
  const { basis, basisVersion } = read
  // Of the same time: the answers are about this context.
  const context = { ...read.contextAt(now), context_id }
  const policies = await parts.boundaryPolicies.active.read()
  const current = { basis, context, policies, policyRequired, now: parts.clock.now(), answers }
  return { basis, context, evaluation: evaluateBoundary(current), basisVersion }
}

async function askGates(parts: BoundaryState, asked: readonly AskedQuestion[], caller: string): Promise<EngineAnswers> {
  const answers = await parts.boundaryPolicies.answer(asked, caller)
  for (const { gate_name, question: each } of asked) {
    const answer = answers.get(each.digest)
    // A request that does not fit a schema is the caller's matter.
    if (answer?.kind === 'none' && answer.failure !== 'request_refused')
      parts.log.warn('a gate got no answer', { gate_name, failure: answer.failure })
  }
  return answers
}

/** With it, an executor without an operator key can continue the chain of a resource. */
async function headOf(
  parts: BoundaryState,
  { resource_id }: Question,
  { authorized }: BoundaryDecision,
): Promise<string> {
  if (resource_id === undefined || !authorized || !parts.settings.evidenceStore) return ''
  const head = (await parts.evidence.findResourceHead(resource_id)) ?? null
  return `,"resource_head":${writeJson(head)}`
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
