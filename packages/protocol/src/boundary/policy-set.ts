import { BOUNDARY_POLICY_FORM, boundaryPolicyDigest } from '../artifacts/boundary-policy.ts'
import type { BoundaryPolicy, GateSpec } from '../artifacts/boundary-policy.ts'
import { canonicalJson, compareCodePoints, writeJson } from '../canonical/canonical-json.ts'
import { JsonError, readJson } from '../canonical/read-json.ts'
import type { Instant } from '../canonical/time.ts'
import { FormError } from '../reading/schema.ts'
import { instantOf } from '../reading/text.ts'
import { MAX_ITEMS } from '../reading/trust-form.ts'
import { readReceived, verifyReceivedPlainly } from '../signing/received.ts'
import type { ApprovalRule } from '../approvals/rule.ts'
import type { Budget } from '../budgets/limits.ts'
import type { Facts } from './facts.ts'
import type { AskingGate, ReadyGate } from './gates/gate.ts'
import { GATE_TYPES, type GateRegistry } from './gates/registry.ts'
import { type ReadySelector, prepareSelector } from './selector.ts'
import { findPolicyIssues, prepareGate } from './validate-policy.ts'

export const RESOLUTION_FAILURES = [
  'policy_store_integrity_failed',
  'ambiguous_resolution',
  'policy_signature_invalid',
  'gate_type_unavailable',
  'policy_invalid',
  'policy_expired',
  'no_policy_applied',
] as const
export type ResolutionFailure = (typeof RESOLUTION_FAILURES)[number]

/** One policy version as a store holds it. */
export interface StoredPolicyText {
  readonly policy_id: string
  readonly version: number
  readonly policy_json: string
  readonly policy_digest: string
}

export interface PreparedGate {
  readonly spec: GateSpec
  readonly run: ReadyGate
  readonly ask?: AskingGate
  readonly budget?: Budget
  readonly approval?: ApprovalRule
  readonly runsLast?: true
}

/** A policy whose text, signature and content have been checked, prepared for many requests. */
export interface ReadyPolicy {
  readonly policy: BoundaryPolicy
  readonly policy_digest: string
  /** In the order they run. */
  readonly gates: readonly PreparedGate[]
  readonly applies: ReadySelector
  readonly validFrom: Instant
  readonly validUntil: Instant
}

/** What became of one active row: ready, or the first reason why the whole set must not decide. */
export type CheckedPolicy = {
  readonly policy_id: string
  readonly version: number
  /** As stored; used only where there is no problem. */
  readonly policy_digest: string
  /** Returns the policy of a text, when the text is a policy and is stored unchanged. */
  readonly policy: BoundaryPolicy | undefined
} & (
  | { readonly problem: undefined; readonly ready: ReadyPolicy }
  | { readonly problem: ResolutionFailure; readonly ready: undefined }
)

/**
 * The stored text as the policy it was signed as, or undefined (5.9). An edit of any byte shows:
 * 1. the text is spelt as this product writes it, so that no other spelling of the same value slips by;
 * 2. it is a policy with its members and no others, under the id and version of its row;
 * 3. its digest is the stored one;
 * 4. the label of its signature is the key id inside the signed body: the label alone is not signed.
 */
export function readStoredPolicy(row: StoredPolicyText): BoundaryPolicy | undefined {
  try {
    const value = readJson(row.policy_json)
    const policy = readReceived(BOUNDARY_POLICY_FORM, value).record
    const isWhole = writeJson(value) === row.policy_json && canonicalJson(value) === canonicalJson(policy)
    const isThisRow = policy.policy_id === row.policy_id && policy.version === row.version
    const isDigest = boundaryPolicyDigest(policy) === row.policy_digest
    const isLabelled = policy.signature === null || policy.signature.key_id === policy.issued_by
    return isWhole && isThisRow && isDigest && isLabelled ? policy : undefined
  } catch (error) {
    if (error instanceof JsonError || error instanceof FormError) return undefined
    throw error
  }
}

/** Rows 1 and 3 to 5 of protocol/trust-operations 5.6 for one row: what depends on its bytes alone. */
export async function checkStoredPolicy(
  row: StoredPolicyText,
  /** Those of the issuer; a function where they depend on the date the policy bears. */
  keys: readonly string[] | ((issued_at: string) => readonly string[]),
  registry: GateRegistry = GATE_TYPES,
): Promise<CheckedPolicy> {
  const { policy_id, version, policy_digest } = row
  const policy = readStoredPolicy(row)
  const named = { policy_id, version, policy_digest, policy }
  if (policy === undefined) return { ...named, problem: 'policy_store_integrity_failed', ready: undefined }
  const known = typeof keys === 'function' ? keys(policy.issued_at) : keys
  const problem = await findProblem(policy, known, registry)
  if (problem !== undefined) return { ...named, problem, ready: undefined }
  return { ...named, problem, ready: preparePolicy(policy, registry) }
}

async function findProblem(
  policy: BoundaryPolicy,
  keys: readonly string[],
  registry: GateRegistry,
): Promise<'policy_signature_invalid' | 'gate_type_unavailable' | 'policy_invalid' | undefined> {
  const verdict = await verifyReceivedPlainly({ form: BOUNDARY_POLICY_FORM, record: policy, wire: policy }, keys)
  if (!verdict.ok) return 'policy_signature_invalid'
  if (policy.gates.some((gate) => !registry.has(gate.gate_type))) return 'gate_type_unavailable'
  return findPolicyIssues(policy, { registry }).length > 0 ? 'policy_invalid' : undefined
}

/** A policy that has no issues, ready to run. Throws for one that has. */
export function preparePolicy(policy: BoundaryPolicy, registry: GateRegistry = GATE_TYPES): ReadyPolicy {
  const gates = policy.gates.map((spec) => {
    const type = registry.get(spec.gate_type)
    const [ask, budget] = [type?.prepareQuestion?.(spec.config), type?.prepareBudget?.(spec.config)]
    const approval = type?.prepareApproval?.(spec.config)
    return {
      spec,
      run: prepareGate(spec, registry),
      ...(ask === undefined ? {} : { ask }),
      ...(budget === undefined ? {} : { budget }),
      ...(approval === undefined ? {} : { approval }),
      ...(type?.runsLast === undefined ? {} : { runsLast: type.runsLast }),
    }
  })
  return {
    policy,
    policy_digest: boundaryPolicyDigest(policy),
    gates: gates.sort((a, b) => a.spec.order - b.spec.order),
    applies: prepareSelector(policy.selector),
    validFrom: instantOf(policy.valid_from),
    validUntil: instantOf(policy.valid_until),
  }
}

/** Resolution order: policy_id by code point, then version. A set that is in order is only looked at. */
export function inResolutionOrder(set: readonly CheckedPolicy[]): readonly CheckedPolicy[] {
  const isInOrder = set.every((each, at) => at === 0 || compareResolution(set[at - 1] as CheckedPolicy, each) <= 0)
  return isInOrder ? set : set.toSorted(compareResolution)
}

function compareResolution(a: CheckedPolicy, b: CheckedPolicy): number {
  return compareCodePoints(a.policy_id, b.policy_id) || a.version - b.version
}

export type PolicyProblem = { readonly policy: string; readonly reason: ResolutionFailure }

/** Every finding over an active set in the order of 5.6; an empty list means healthy. */
export function findSetProblems(set: readonly CheckedPolicy[], now: Instant): readonly PolicyProblem[] {
  const ordered = inResolutionOrder(set)
  const toProblem = (each: CheckedPolicy, reason: ResolutionFailure): PolicyProblem => ({
    policy: `${each.policy_id}@${each.version}`,
    reason,
  })
  const isSame = (a: CheckedPolicy, b: CheckedPolicy | undefined): boolean => a.policy_id === b?.policy_id
  return [
    ...ordered.filter(hasLostIntegrity).map((each) => toProblem(each, 'policy_store_integrity_failed')),
    ...ordered
      // In order, so versions of one policy are neighbours; every request asks this of the whole set.
      .filter((each, at) => isSame(each, ordered[at - 1]) || isSame(each, ordered[at + 1]))
      .map((each) => toProblem(each, 'ambiguous_resolution')),
    ...ordered.flatMap((each) =>
      each.problem === undefined || hasLostIntegrity(each) ? [] : [toProblem(each, each.problem)],
    ),
    ...ordered.filter((each) => isExpired(each, now)).map((each) => toProblem(each, 'policy_expired')),
  ]
}

function hasLostIntegrity({ problem }: CheckedPolicy): boolean {
  return problem === 'policy_store_integrity_failed'
}

function isExpired({ policy, ready }: CheckedPolicy, now: Instant): boolean {
  if (ready !== undefined) return now > ready.validUntil
  return policy !== undefined && now > instantOf(policy.valid_until)
}

/** Policy gates of one decision: what a list of a record holds, less the built-in gates before them (1.5, 5.7). */
const MAX_APPLIED_GATES = MAX_ITEMS - 4

/** Which policies apply to a request, or why none may be asked. */
export type Resolution =
  | { readonly status: 'resolved'; readonly applied: readonly ReadyPolicy[] }
  | { readonly status: 'failed'; readonly failure: ResolutionFailure }

/**
 * Resolution of protocol/trust-operations 5.6. The first finding denies every request, whatever its selector says: a
 * set with one broken rule would otherwise allow what that rule was to stop. A policy whose window has not begun does
 * not apply and is no finding. Where policies are required, a request to which none applies is denied as well.
 */
export function resolvePolicies(
  set: readonly CheckedPolicy[],
  facts: Facts,
  now: Instant,
  isRequired = false,
  /** Budgets of the treaty, whose results are listed before those of the policies. */
  treatyBudgets = 0,
): Resolution {
  const [first] = findSetProblems(set, now)
  if (first !== undefined) return { status: 'failed', failure: first.reason }
  const applied = inResolutionOrder(set).flatMap(({ ready }) =>
    ready !== undefined && ready.validFrom <= now && ready.applies(facts) ? [ready] : [],
  )
  if (isRequired && applied.length === 0) return { status: 'failed', failure: 'no_policy_applied' }
  // A decision with more gates than a record may list would be signed, and then refused by every reader.
  const gates = applied.reduce((sum, each) => sum + each.gates.length, 0)
  return gates > MAX_APPLIED_GATES - treatyBudgets
    ? { status: 'failed', failure: 'policy_invalid' }
    : { status: 'resolved', applied }
}
