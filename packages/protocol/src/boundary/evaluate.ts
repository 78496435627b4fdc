import { type GateEvaluation, type PolicyBinding, policySetDigest } from '../artifacts/decision-bindings.ts'
import { digestOf } from '../canonical/digest.ts'
import { sortCodePoints } from '../canonical/canonical-json.ts'
import type { Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { asJson } from '../signing/verify-any.ts'
import { concludeRun, runAgreementGates, runAttestationGates } from './agreement-gates.ts'
import type { AgreedTerms, GateRun, GateStep } from './agreement-gates.ts'
import type { AttestationBasis } from './attestation-basis.ts'
import type { ApprovalFacts } from '../approvals/found-approval.ts'
import { budgetApplies } from '../budgets/budget-step.ts'
import type { BudgetCounters } from '../budgets/counters.ts'
import { budgetsFor, runTreatyBudgets } from '../budgets/treaty-budgets.ts'
import type { AskedQuestion, EngineAnswers } from './engine-question.ts'
import type { ContextFacts, Facts } from './facts.ts'
import { listQuestions, runPolicyGates } from './policy-gates.ts'
import type { PresentedBasis } from './presented-basis.ts'
import { runPresentedGates } from './presented-gates.ts'
import { resolvePolicies } from './policy-set.ts'
import type { CheckedPolicy, ReadyPolicy, Resolution, ResolutionFailure } from './policy-set.ts'

export type AgreementBasis = { readonly kind: 'agreement'; readonly terms: AgreedTerms }
export type BoundaryBasis = AgreementBasis | AttestationBasis | PresentedBasis

/** Everything a policy-aware decision depends on, and nothing else. */
export interface BoundaryQuestion {
  readonly basis: BoundaryBasis
  /** The whole context record; its digest is bound by the decision. */
  readonly context: ContextFacts
  /** The active set, healthy or not. */
  readonly policies: readonly CheckedPolicy[]
  /** Denies a request to which no policy applies. */
  readonly policyRequired?: boolean
  readonly now: Instant
  /** Answers to {@link boundaryQuestions}. */
  readonly answers?: EngineAnswers
  /** State of the counters, read under their locks. Without it a budget denies. */
  readonly budgets?: BudgetCounters
  /** What is known about approvals. Without it a gate that asks a person denies. */
  readonly approvals?: ApprovalFacts
}

/** What was decided and how it came about. */
export interface Evaluation extends GateRun {
  readonly policy_binding: PolicyBinding
  /** Denied by nothing but gates that wait for a person. */
  readonly isHeld: boolean
}

/** What the policies alone make of a request. */
export interface PolicyEvaluation {
  readonly resolution: Resolution
  readonly applied: readonly ReadyPolicy[]
  readonly steps: readonly GateStep[]
  readonly evaluations: readonly GateEvaluation[]
}

/** Resolution and, unless something denied before, every gate of every applied policy. */
export function evaluatePolicies(
  policies: readonly CheckedPolicy[],
  facts: Facts,
  now: Instant,
  {
    isDenied = false,
    policyRequired = false,
    treatyBudgets = 0,
  }: { isDenied?: boolean; policyRequired?: boolean; treatyBudgets?: number } = {},
): PolicyEvaluation {
  const resolution = resolvePolicies(policies, facts, now, policyRequired, treatyBudgets)
  if (resolution.status === 'failed')
    return { resolution, applied: [], steps: [resolutionStep(resolution.failure, policies.length)], evaluations: [] }
  const { applied } = resolution
  const run = isDenied
    ? { steps: [], evaluations: [] }
    : runPolicyGates(applied, withinSteps(applied, facts, treatyBudgets))
  return { resolution, applied, ...run }
}

/**
 * Decides a request (protocol/trust-operations 4.6 step 6 and 5.7).
 * 1. Built-in gates of the basis, up to the first that denies: no policy can grant what the basis does not.
 * 2. Resolution over the whole active set: while one policy is broken or expired, nothing is allowed. Where policies
 *    are required, nothing is allowed to which none applies.
 * 3. Budgets of the treaty, before the policies: without them the treaty grants nothing.
 * 4. Policy gates, all of them, but only when nothing denied yet: a refused caller learns nothing about the rules.
 * 5. The first step that denies names the reason; the binding shows under which rules, over which context.
 */
export function evaluateBoundary(asked: BoundaryQuestion): Evaluation {
  const { basis, context, policies, now, answers, budgets, approvals, policyRequired = false } = asked
  const builtIn = runBuiltInGates(context, basis)
  const facts = {
    ...boundaryFacts(context, basis),
    ...(answers === undefined ? {} : { answers }),
    ...(budgets === undefined ? {} : { budgets }),
    ...(approvals === undefined ? {} : { approvals }),
  }
  const treaty = isDenying(builtIn) ? [] : treatySteps(basis, facts, policies, now)
  const options = { isDenied: isDenying([...builtIn, ...treaty]), policyRequired, treatyBudgets: treaty.length }
  const policy = evaluatePolicies(policies, facts, now, options)
  const all = [...builtIn, ...treaty, ...policy.steps]
  const denials = all.filter((step) => step.denial !== undefined)
  return {
    ...concludeSteps(all),
    policy_binding: bind(policy, digestOf(asJson(context))),
    isHeld: denials.length > 0 && denials.every(({ metadata }) => metadata['outcome'] === 'pending'),
  }
}

function isDenying(steps: readonly GateStep[]): boolean {
  return steps.some((step) => step.denial !== undefined)
}

/** The budgets of the used treaty that name the capability. */
function treatySteps(
  basis: BoundaryBasis,
  facts: Facts,
  policies: readonly CheckedPolicy[],
  now: Instant,
): readonly GateStep[] {
  if (basis.kind !== 'presented' || basis.treaty === undefined) return []
  const budgets = budgetsFor(basis.treaty.budgets, facts.context.requested_capability)
  if (budgets.length === 0) return []
  const resolution = resolvePolicies(policies, facts, now)
  const applied = resolution.status === 'resolved' ? resolution.applied : []
  const partner = basis.attestation.issuer_sovereign_id
  return runTreatyBudgets(budgets, partner, withinSteps(applied, facts, budgets.length))
}

/**
 * What has to be asked of other systems before a request can be decided. Nothing is asked about a request that its
 * basis or the state of the policies denies: another system learns nothing about refused callers.
 */
export function boundaryQuestions({ basis, context, policies, now }: BoundaryQuestion): readonly AskedQuestion[] {
  if (!policies.some(asksOthers)) return []
  if (runBuiltInGates(context, basis).some((step) => step.denial !== undefined)) return []
  return policyQuestions(policies, boundaryFacts(context, basis), now)
}

/** As {@link boundaryQuestions}, for policies alone. */
export function policyQuestions(
  policies: readonly CheckedPolicy[],
  facts: Facts,
  now: Instant,
): readonly AskedQuestion[] {
  if (!policies.some(asksOthers)) return []
  const resolution = resolvePolicies(policies, facts, now)
  return resolution.status === 'failed' ? [] : listQuestions(resolution.applied, facts)
}

/** Budget steps that may apply in one decision. With more, none of them is available. */
const MAX_BUDGET_STEPS = 16

function countBudgets(applied: readonly ReadyPolicy[], facts: Facts): number {
  const budgets = applied.flatMap(({ gates }) => gates.flatMap((gate) => gate.budget ?? []))
  return budgets.filter((budget) => budgetApplies(budget, facts)).length
}

/** Without the counters where too many budgets apply. */
function withinSteps(applied: readonly ReadyPolicy[], facts: Facts, ofTreaty: number): Facts {
  if (facts.budgets === undefined || ofTreaty + countBudgets(applied, facts) <= MAX_BUDGET_STEPS) return facts
  const { budgets: _counters, ...without } = facts
  return without
}

function asksOthers({ ready }: CheckedPolicy): boolean {
  return ready?.gates.some(({ ask }) => ask !== undefined) === true
}

function runBuiltInGates(context: ContextFacts, basis: BoundaryBasis): readonly GateStep[] {
  switch (basis.kind) {
    case 'agreement':
      return runAgreementGates(context, basis.terms)
    case 'attestation':
      return runAttestationGates(context, basis)
    case 'presented':
      return runPresentedGates(context, basis)
  }
}

/** The first step that denies gives the reason; of policy gates the others are counted. */
export function concludeSteps(steps: readonly GateStep[]): GateRun {
  const run = concludeRun(steps)
  const others = steps.filter((step) => step.denial !== undefined && isPolicyGate(step)).length - 1
  const first = steps.find((step) => step.denial !== undefined)
  if (first === undefined || !isPolicyGate(first) || others === 0) return run
  return { ...run, denial_reason: `${run.denial_reason} (+${others} more)` }
}

/** Built-in steps and the resolution report only their inputs and failure. */
function isPolicyGate({ metadata }: GateStep): boolean {
  return metadata['gate_id'] !== undefined
}

/** Returns the latest end of an authorized decision: not later than the end of its basis. */
export function basisEnd(basis: BoundaryBasis): Instant | undefined {
  const end = basis.kind === 'agreement' ? basis.terms.valid_until : basis.attestation?.expires_at
  if (end === undefined) return undefined
  const ends = instantOf(end)
  if (basis.kind !== 'presented' || basis.treaty === undefined) return ends
  const treatyEnds = instantOf(basis.treaty.expires_at)
  return treatyEnds < ends ? treatyEnds : ends
}

/**
 * Attestation facts only once the record is known to be ours. A partner's member has none, so a policy for own members
 * denies it instead of mistaking it for an own member with the same name.
 */
export function boundaryFacts(context: ContextFacts, basis: BoundaryBasis): Facts {
  const attestation = basis.kind === 'attestation' && basis.isVerified ? basis.attestation : undefined
  return { context, attestation }
}

function resolutionStep(failure: ResolutionFailure, activePolicies: number): GateStep {
  return {
    gate_name: 'policy_resolution',
    gate_type: 'PolicyResolution',
    passed: false,
    reason: `policy resolution failed: ${failure}`,
    inputs: { active_policy_count: activePolicies },
    metadata: { resolution_failure: failure },
    denial: `policy resolution failed: ${failure}`,
    isObserved: false,
  }
}

function bind({ resolution, applied, evaluations }: PolicyEvaluation, context_digest: string): PolicyBinding {
  const policies = applied.map(({ policy, policy_digest }) => ({
    policy_id: policy.policy_id,
    version: policy.version,
    policy_digest,
    signed_by: policy.signature?.key_id ?? '',
  }))
  const types = new Set(applied.flatMap(({ policy }) => policy.gates.map((gate) => gate.gate_type)))
  return {
    policies,
    policy_set_digest: policySetDigest(policies),
    gate_evaluations: evaluations,
    context_digest,
    registry_gate_types: sortCodePoints([...types]),
    resolution_status: resolution.status,
    resolution_failure: resolution.status === 'failed' ? resolution.failure : null,
  }
}
