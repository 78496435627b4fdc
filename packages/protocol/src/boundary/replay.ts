import { recordedApprovals } from '../approvals/approval-step.ts'
import type { BoundaryDecision } from '../artifacts/boundary-decision.ts'
import { type BoundaryPolicy, boundaryPolicyDigest } from '../artifacts/boundary-policy.ts'
import type { ContextRecord } from '../artifacts/context-record.ts'
import type { GateEvaluation } from '../artifacts/decision-bindings.ts'
import type { GateTraceEntry } from '../artifacts/justification-proof.ts'
import { canonicalJson } from '../canonical/canonical-json.ts'
import { digestOf } from '../canonical/digest.ts'
import { recordedCounters } from '../budgets/budget-use.ts'
import type { JsonObject, JsonValue } from '../canonical/utf8.ts'
import { asJson } from '../signing/verify-any.ts'
import { type GateStep, capabilityStep, freshnessStep, windowGate } from './agreement-gates.ts'
import { gateResults } from './decide.ts'
import type { AskedQuestion, EngineAnswer, EngineAnswers } from './engine-question.ts'
import { concludeSteps } from './evaluate.ts'
import type { AttestationFacts, Facts } from './facts.ts'
import { readRecordedFact } from './gates/external-fact.ts'
import { denialOf, gateName, listQuestions, runPolicyGates } from './policy-gates.ts'
import { preparePolicy } from './policy-set.ts'
import { findPolicyIssues } from './validate-policy.ts'

/** A stored decision with everything that its gates read. Signatures and digests were verified before. */
export interface StoredCase {
  readonly decision: BoundaryDecision
  readonly context: ContextRecord
  readonly trace: readonly GateTraceEntry[]
  readonly policies: readonly BoundaryPolicy[]
  /** The attestation of the deciding authority; undefined where the decision has none, or it is not at hand. */
  readonly attestation: AttestationFacts | undefined
}

/** external: the verdict follows from the recorded answer of another system, which cannot be computed again. */
export type ReplayResult = 'same' | 'different' | 'external' | 'not_recomputable'

export interface ReplayedGate {
  readonly gate_name: string
  readonly gate_type: string
  readonly result: ReplayResult
  /** Why it is not the same; null when it is. */
  readonly detail: string | null
}

export interface Replay {
  /**
   * different: a gate, the list of gates or the denial reason differs. incomplete: a gate of a policy, or the gate that
   * denied, could not be computed here. Answers of other systems are taken as recorded.
   */
  readonly result: 'same' | 'different' | 'incomplete'
  readonly gates: readonly ReplayedGate[]
}

/** What has to be asked of Cedar to compute a decision again. Other systems are not asked again. */
export function replayQuestions(stored: StoredCase): readonly AskedQuestion[] {
  const facts = factsOf(stored, new Map())
  return stored.policies
    .filter(isUsable)
    .flatMap((policy) => listQuestions([preparePolicy(policy)], facts))
    .filter(({ question }) => question.kind === 'cedar')
}

/**
 * Computes the gates of a decision again and compares result, evaluation and trace entry byte by byte. Gates of the
 * basis are computed from their recorded terms; whether an attestation or treaty was in force is not known here.
 */
export function replayDecision(stored: StoredCase, cedarAnswers: EngineAnswers): Replay {
  const { decision, trace, context } = stored
  const answers = new Map([...cedarAnswers, ...recordedFacts(trace)])
  const policies = runPolicies(stored, factsOf(stored, answers))
  const computed = new Map(policies.flatMap(({ gates = [] }) => gates).map((each) => [each.step.gate_name, each]))
  const gates = trace.map((entry, at) => {
    const named = { gate_name: entry.gate_name, gate_type: entry.gate_type }
    const recorded = canonicalJson(asJson([decision.gate_results[at] ?? null, evaluationOf(decision, entry), entry]))
    const again = isOfPolicy(entry) ? computed.get(entry.gate_name) : replayBuiltIn(context, entry)
    if (again === undefined) return { ...named, ...notComputed(entry) }
    const bytes = canonicalJson(
      asJson([gateResults([again.step])[0] ?? null, again.evaluation, toEntry(entry, again.step)]),
    )
    return { ...named, ...compare(stored, entry, bytes === recorded, again.step) }
  })
  return { gates, result: conclude(stored, gates, policies) }
}

function conclude(
  stored: StoredCase,
  gates: readonly ReplayedGate[],
  policies: readonly ComputedPolicy[],
): Replay['result'] {
  const { decision, context, trace } = stored
  const { policy_binding: binding, authorized, gate_results } = decision
  const isOtherContext = binding !== undefined && binding.context_digest !== digestOf(asJson(context))
  const isWhole = trace.length === gate_results.length && hasEveryGate(stored, policies)
  const denied = trace.findIndex(isDenial)
  const isConcluded = authorized === (denied === -1) && decision.denial_reason === denialReason(stored)
  if (isOtherContext || !isWhole || !isConcluded || gates.some(({ result }) => result === 'different'))
    return 'different'
  const isUnknown = gates.some(
    ({ result }, at) => result === 'not_recomputable' && (at === denied || isOfPolicy(trace[at])),
  )
  const isAbsent = runsPolicies(trace) && policies.some((each) => each.gates === undefined)
  return isUnknown || isAbsent ? 'incomplete' : 'same'
}

function isOfPolicy(entry: GateTraceEntry | undefined): boolean {
  return entry?.metadata['gate_id'] !== undefined
}

function isDenial({ result, metadata }: GateTraceEntry): boolean {
  return !result && metadata['mode'] !== 'observe'
}

/** After a built-in gate that denies, no gate of a policy runs. */
function runsPolicies(trace: readonly GateTraceEntry[]): boolean {
  return !trace.some((entry) => isDenial(entry) && !isOfPolicy(entry))
}

/** Whether the trace and the evaluations have the gates of the applied policies, in order, and no others. */
function hasEveryGate({ decision, trace }: StoredCase, policies: readonly ComputedPolicy[]): boolean {
  const recorded = trace.filter(isOfPolicy)
  const nameOf = ({ gate_name }: { gate_name: string }): string => gate_name
  const expected = policies.flatMap(({ policy_id, gates }) =>
    gates === undefined
      ? recorded.filter(({ metadata }) => metadata['policy_id'] === policy_id).map(nameOf)
      : gates.map(({ step }) => nameOf(step)),
  )
  const evaluations = decision.policy_binding?.gate_evaluations ?? []
  const names = canonicalJson(recorded.map(nameOf))
  return (
    names === canonicalJson(runsPolicies(trace) ? expected : []) &&
    names === canonicalJson(evaluations.map(({ policy_id, gate_id }) => gateName(policy_id, gate_id)))
  )
}

/** The reason that follows from the recorded results. That of a gate that is not computed again is as recorded. */
function denialReason({ decision, context, trace }: StoredCase): string | null {
  const steps = trace.map((entry) => {
    const { result: passed, gate_name } = entry
    const builtIn = (): string | null => replayBuiltIn(context, entry)?.step.denial ?? decision.denial_reason
    const denial = isDenial(entry) ? (isOfPolicy(entry) ? denialOf(gate_name) : (builtIn() ?? undefined)) : undefined
    return { ...entry, passed, denial, isObserved: false }
  })
  return concludeSteps(steps).denial_reason
}

function isUsable(policy: BoundaryPolicy): boolean {
  return findPolicyIssues(policy).length === 0
}

function factsOf({ context, attestation, trace }: StoredCase, answers: EngineAnswers): Facts {
  return { context, attestation, answers, budgets: recordedCounters(trace), approvals: recordedApprovals(trace) }
}

function recordedFacts(trace: readonly GateTraceEntry[]): readonly (readonly [string, EngineAnswer])[] {
  return trace.flatMap(({ gate_type, inputs }) => {
    const { question_digest } = inputs
    const answer = gate_type === 'external_fact.v1' ? readRecordedFact(inputs) : undefined
    return answer === undefined || typeof question_digest !== 'string' ? [] : [[question_digest, answer] as const]
  })
}

interface Computed {
  readonly step: GateStep
  readonly evaluation: GateEvaluation | null
}

interface ComputedPolicy {
  readonly policy_id: string
  /** Undefined when the policy with the digest that the decision names is not at hand, or cannot be run. */
  readonly gates: readonly Computed[] | undefined
}

/** The applied policies in the order of the decision. */
function runPolicies({ decision, policies }: StoredCase, facts: Facts): readonly ComputedPolicy[] {
  const usable = new Map(policies.filter(isUsable).map((policy) => [boundaryPolicyDigest(policy), policy]))
  return (decision.policy_binding?.policies ?? []).map(({ policy_id, policy_digest }) => {
    const policy = usable.get(policy_digest)
    if (policy === undefined) return { policy_id, gates: undefined }
    const { steps, evaluations } = runPolicyGates([preparePolicy(policy)], facts)
    return { policy_id, gates: steps.map((step, at) => ({ step, evaluation: evaluations[at] ?? null })) }
  })
}

function replayBuiltIn(context: ContextRecord, { gate_type, inputs }: GateTraceEntry): Computed | undefined {
  const { capabilities = null, valid_from, valid_until, freshness_commitment } = inputs
  if (gate_type === 'CapabilityGate' && (capabilities === null || isTexts(capabilities)))
    return { step: capabilityStep(context.requested_capability, capabilities), evaluation: null }
  if (gate_type === 'ValidityWindowGate' && typeof valid_from === 'string' && typeof valid_until === 'string')
    return { step: windowGate(context, { valid_from, valid_until }), evaluation: null }
  if (gate_type === 'FreshnessGate' && typeof freshness_commitment === 'number')
    return { step: freshnessStep(context.context_freshness_seq, freshness_commitment), evaluation: null }
  return undefined
}

function isTexts(value: JsonValue): value is readonly string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string')
}

function evaluationOf({ policy_binding }: BoundaryDecision, { metadata }: GateTraceEntry): GateEvaluation | null {
  const { policy_id, gate_id } = metadata
  const all = policy_binding?.gate_evaluations ?? []
  return all.find((each) => each.policy_id === policy_id && each.gate_id === gate_id) ?? null
}

function toEntry({ evaluated_at }: GateTraceEntry, step: GateStep): GateTraceEntry {
  const { gate_name, gate_type, inputs, passed, reason, metadata } = step
  return { gate_name, gate_type, evaluated_at, inputs, result: passed, reason, metadata }
}

type Outcome = Pick<ReplayedGate, 'result' | 'detail'>

function notComputed(entry: GateTraceEntry): Outcome {
  const { gate_type } = entry
  const detail = isOfPolicy(entry)
    ? 'the policy is not at hand, or this release cannot run it'
    : `${gate_type} depends on what was stored at that time`
  return { result: 'not_recomputable', detail }
}

function compare(stored: StoredCase, entry: GateTraceEntry, isSame: boolean, step: GateStep): Outcome {
  if (entry.gate_type === 'budget.v1') {
    if (!isSame) return { result: 'different', detail: 'the verdict does not follow from the recorded numbers' }
    return { result: 'external', detail: 'budget: the verdict follows from the recorded numbers' }
  }
  if (entry.gate_type === 'approval.v1') {
    if (!isSame) return { result: 'different', detail: 'the verdict does not follow from the recorded approval' }
    return { result: 'external', detail: 'approval: the verdict follows from the recorded state' }
  }
  if (entry.gate_type === 'external_fact.v1') {
    if (!isSame) return { result: 'different', detail: 'the verdict does not follow from the recorded answer' }
    return { result: 'external', detail: 'external fact: the verdict follows from the recorded answer' }
  }
  // First: the same failure then and here is no computation.
  const why = entry.gate_type === 'cedar.v1' ? whyNotComparable(entry.inputs, step.inputs) : undefined
  if (why !== undefined) return { result: 'not_recomputable', detail: why }
  if (isSame) return { result: 'same', detail: null }
  if (stored.attestation === undefined && stored.decision.attestation_binding !== undefined)
    return { result: 'not_recomputable', detail: 'the attestation is not at hand' }
  return { result: 'different', detail: `now: ${step.reason}` }
}

/** A failure of that time or of this machine says nothing about the rules. */
function whyNotComparable(recorded: JsonObject, now: JsonObject): string | undefined {
  const textAt = (inputs: JsonObject, name: string): string | undefined => {
    const value = inputs[name]
    return typeof value === 'string' && value !== 'request_refused' ? value : undefined
  }
  const [failedThen, failedHere] = [textAt(recorded, 'failure'), textAt(now, 'failure')]
  if (failedThen !== undefined) return `Cedar gave no answer then: ${failedThen}`
  if (failedHere !== undefined) return `Cedar gives no answer here: ${failedHere}`
  const [then = 'unknown', here = 'unknown'] = [textAt(recorded, 'engine_version'), textAt(now, 'engine_version')]
  return then === here ? undefined : `Cedar ${then} decided, here is ${here}`
}
