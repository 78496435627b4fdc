import {
  APPROVAL_REQUEST_TYPE,
  type ApprovalRequest,
  type ApprovalRequirement,
  type ReservedBudget,
} from '../artifacts/approval-request.ts'
import type { GateStep } from '../boundary/agreement-gates.ts'
import type { FactPath, Facts } from '../boundary/facts.ts'
import { gateName } from '../boundary/policy-gates.ts'
import { type CheckedPolicy, type ReadyPolicy, resolvePolicies } from '../boundary/policy-set.ts'
import { digestOf } from '../canonical/digest.ts'
import { type Instant, seconds } from '../canonical/time.ts'
import { writeInstant } from '../canonical/write-time.ts'
import type { ApprovalRule } from './rule.ts'
import { canBeMet } from './approval-step.ts'
import { type BoundFacts, type Show, requestOfApproval, showRequest } from './bound-request.ts'

/** An enforced gate of an applied policy that asks a person about a request. */
export interface NeededApproval {
  readonly requirement: ApprovalRequirement
  readonly gate_name: string
  readonly rule: ApprovalRule
}

/** Whether any gate of these policies may ask a person. */
export function mayAskPerson(policies: readonly CheckedPolicy[]): boolean {
  return policies.some(({ ready }) => ready?.gates.some(({ approval }) => approval !== undefined) === true)
}

interface RuleGate {
  readonly policy: ReadyPolicy
  readonly gate: ReadyPolicy['gates'][number]
  readonly gate_name: string
  readonly rule: ApprovalRule
}

function listRules(policies: readonly CheckedPolicy[], facts: Facts, now: Instant): readonly RuleGate[] {
  const resolution = resolvePolicies(policies, facts, now)
  if (resolution.status === 'failed') return []
  return resolution.applied.flatMap((policy) =>
    policy.gates.flatMap((gate) =>
      gate.approval === undefined
        ? []
        : [{ policy, gate, gate_name: gateName(policy.policy.policy_id, gate.spec.gate_id), rule: gate.approval }],
    ),
  )
}

/** What has to be looked up before it is known which gates ask: the keys of first uses. */
export function approvalUseKeys(policies: readonly CheckedPolicy[], facts: Facts, now: Instant): readonly string[] {
  return listRules(policies, facts, now).flatMap(({ rule, gate_name }) => rule.useKey?.(facts, gate_name) ?? [])
}

export interface ApprovalPlan {
  /** The gates that ask a person about a request, when nothing else denies it. */
  readonly needed: readonly NeededApproval[]
  /** A gate cannot say whether it asks, or whom, and denies. Then the others do not ask. */
  readonly isBlocked: boolean
}

export function planApprovals(policies: readonly CheckedPolicy[], facts: Facts, now: Instant): ApprovalPlan {
  const enforced = listRules(policies, facts, now).filter(({ gate }) => gate.spec.mode === 'enforce')
  const answers = enforced.map((each) => ({ ...each, isNeeded: each.rule.isNeeded(facts, each.gate_name) }))
  const asking = answers.filter(({ isNeeded }) => isNeeded === true)
  return {
    needed: asking.map(({ policy: { policy, policy_digest }, gate, gate_name, rule }) => {
      const { policy_id, version } = policy
      const { gate_id } = gate.spec
      const { title, approvers } = rule
      return { requirement: { policy_id, version, policy_digest, gate_id, title, approvers }, gate_name, rule }
    }),
    isBlocked:
      answers.some(({ isNeeded }) => typeof isNeeded === 'string') || asking.some(({ rule }) => !canBeMet(rule, facts)),
  }
}

/** Facts that none of the gates binds. */
export function unboundOf(needed: readonly NeededApproval[]): readonly FactPath[] {
  return [...new Map(needed.flatMap(({ rule }) => rule.unbound).map((path) => [path.text, path])).values()]
}

/** Keys of first uses that an approval of these gates gives. */
export function usedKeys(needed: readonly NeededApproval[], facts: Facts): readonly string[] {
  return needed.flatMap(({ rule, gate_name }) => rule.useKey?.(facts, gate_name) ?? [])
}

/** Whether an approval was given for these gates, as their policies are now. */
export function isApprovalCurrent(
  { requirements }: Pick<ApprovalRequest, 'requirements'>,
  needed: readonly NeededApproval[],
): boolean {
  return needed.every(({ requirement: now }) =>
    requirements.some(
      (then) =>
        then.policy_id === now.policy_id && then.gate_id === now.gate_id && then.policy_digest === now.policy_digest,
    ),
  )
}

/** The unsigned request that people are asked about (protocol/approvals 4). */
export function draftApprovalRequest(given: {
  readonly approval_id: string
  readonly decision_id: string
  readonly bound: BoundFacts
  readonly context_digest: string
  readonly facts: Facts
  readonly needed: readonly NeededApproval[]
  /** Of the decision, for the budgets that it reserves. */
  readonly steps: readonly GateStep[]
  readonly operator_sovereign_id: string
  readonly issued_by: string
  readonly now: Instant
}): ApprovalRequest {
  const { bound, needed, facts, now } = given
  const question = requestOfApproval(bound)
  const unbound_paths = bound.unbound.map(({ text }) => text).toSorted()
  const { shown, isComplete } = showRequest(question, showOf(needed), facts)
  const expires = Math.min(...needed.map(({ rule }) => rule.expiresSeconds))
  return {
    type: APPROVAL_REQUEST_TYPE,
    approval_id: given.approval_id,
    decision_id: given.decision_id,
    context_digest: given.context_digest,
    request_digest: digestOf(question),
    asker: bound.asker,
    requested_capability: bound.context.requested_capability,
    requester_sovereign_id: bound.context.requester_sovereign_id,
    issuer_sovereign_id: bound.issuer_sovereign_id,
    subject_id: bound.subject_id,
    resource_id: bound.resource_id,
    requirements: needed.map(({ requirement }) => requirement),
    shown,
    shown_complete: isComplete && unbound_paths.length === 0,
    budgets: reservedBudgets(given.steps),
    unbound_paths,
    opened_at: writeInstant(now),
    expires_at: writeInstant(now + seconds(expires)),
    operator_sovereign_id: given.operator_sovereign_id,
    issued_by: given.issued_by,
    signature: null,
  }
}

function showOf(needed: readonly NeededApproval[]): Show {
  const paths = needed.map(({ rule }) => rule.show)
  return paths.includes('all') ? 'all' : paths.flatMap((each) => (each === 'all' ? [] : each))
}

const BUDGET_GATES: ReadonlySet<string> = new Set(['budget.v1', 'TreatyBudgetGate'])

function reservedBudgets(steps: readonly GateStep[]): readonly ReservedBudget[] {
  return steps.flatMap(({ gate_type, inputs }) => {
    const { source, unit = null, asked, remaining } = inputs
    const isReserved =
      BUDGET_GATES.has(gate_type) &&
      typeof source === 'string' &&
      typeof asked === 'string' &&
      typeof remaining === 'string'
    return isReserved ? [{ source, unit: typeof unit === 'string' ? unit : null, asked, remaining }] : []
  })
}
