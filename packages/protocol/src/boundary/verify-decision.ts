import type { BoundaryDecision } from '../artifacts/boundary-decision.ts'
import { type AppliedPolicy, type AttestationBinding, policySetDigest } from '../artifacts/decision-bindings.ts'
import { freshnessProofForm } from '../artifacts/freshness-proof.ts'
import { VALID, type Verdict, invalid } from '../artifacts/verdict.ts'
import { isJsonObject } from '../canonical/utf8.ts'
import type { Instant } from '../canonical/time.ts'
import { instantOf } from '../reading/text.ts'
import { readReceived, verifyReceived, verifyReceivedPlainly } from '../signing/received.ts'
import type { FormReason, Received } from '../signing/received.ts'

export type DecisionFault =
  | FormReason
  | 'decision_expired'
  | 'freshness_proof_invalid_signature'
  | 'freshness_proof_expired'
  | 'policy_binding_missing'
  | 'policy_binding_mismatch'
  | 'attestation_binding_missing'
  | 'attestation_binding_mismatch'

export type DecisionMeaning =
  | 'authorized'
  | 'unauthorized_attestation_basis'
  | 'unauthorized_policy_resolution_failed'
  | 'unauthorized_policy_gate_failure'
  | 'unauthorized_capability_out_of_scope'
  | 'unauthorized_outside_validity_window'
  | 'unauthorized_insufficient_freshness'
  | 'unauthorized_gate_failure'

/** Accepted says the decision is genuine; only `authorized` inside an accepted one permits anything. */
export type DecisionVerdict =
  | { readonly accepted: true; readonly reason: DecisionMeaning }
  | { readonly accepted: false; readonly reason: DecisionFault }

export interface DecisionExpectations {
  readonly keys: readonly string[]
  readonly now: Instant
  /** Keys that may attest freshness; without them an embedded proof is not looked at. */
  readonly freshnessKeys?: readonly string[]
  readonly policies?: readonly Omit<AppliedPolicy, 'signed_by'>[]
  readonly attestation?: Omit<AttestationBinding, 'revocation_seq_checked'>
}

/**
 * protocol/trust-operations 4.10, in this order:
 * 1. signed at all; 2. not expired: an old grant must not be replayed;
 * 3. signed by the operator, 4. in exactly this form;
 * 5. its freshness proof, 6. its policies and 7. its attestation are the expected ones, where the caller expects any:
 *    a genuine decision about another basis must not pass for this one;
 * 8. what it says.
 */
export async function verifyBoundaryDecision(
  decision: Received<BoundaryDecision>,
  against: DecisionExpectations,
): Promise<DecisionVerdict> {
  const { record } = decision
  if (record.signature === null) return { accepted: false, reason: 'missing_signature' }
  if (against.now > instantOf(record.decision_valid_until)) return { accepted: false, reason: 'decision_expired' }
  const genuine = await verifyReceived(decision, against.keys)
  if (!genuine.ok) return { accepted: false, reason: genuine.reason }
  const expected = await checkExpectations(decision, against)
  if (!expected.ok) return { accepted: false, reason: expected.reason }
  return { accepted: true, reason: meaningOf(record) }
}

async function checkExpectations(
  decision: Received<BoundaryDecision>,
  against: DecisionExpectations,
): Promise<Verdict<DecisionFault>> {
  const fresh = await checkFreshness(decision, against.freshnessKeys)
  if (!fresh.ok) return fresh
  const policies = checkPolicies(decision.record, against.policies)
  return policies.ok ? checkAttestation(decision.record, against.attestation) : policies
}

async function checkFreshness(
  { record, wire }: Received<BoundaryDecision>,
  keys: readonly string[] | undefined,
): Promise<Verdict<DecisionFault>> {
  const proof = wire['freshness_proof']
  if (keys === undefined || !isJsonObject(proof)) return VALID
  const received = readReceived(freshnessProofForm, proof)
  if (!(await verifyReceivedPlainly(received, keys)).ok) return invalid('freshness_proof_invalid_signature')
  const isExpired = instantOf(received.record.proof_valid_until) < instantOf(record.decision_made_at)
  return isExpired ? invalid('freshness_proof_expired') : VALID
}

function checkPolicies(
  { policy_binding: binding }: BoundaryDecision,
  expected: DecisionExpectations['policies'],
): Verdict<DecisionFault> {
  if (expected === undefined) return VALID
  if (binding === undefined) return invalid('policy_binding_missing')
  const wanted = policySetDigest(expected)
  const isSame = policySetDigest(binding.policies) === wanted && binding.policy_set_digest === wanted
  return isSame ? VALID : invalid('policy_binding_mismatch')
}

function checkAttestation(
  { attestation_binding: binding }: BoundaryDecision,
  expected: DecisionExpectations['attestation'],
): Verdict<DecisionFault> {
  if (expected === undefined) return VALID
  if (binding === undefined) return invalid('attestation_binding_missing')
  const names = ['attestation_id', 'subject_id', 'issuer_sovereign_id', 'attestation_digest'] as const
  return names.every((name) => binding[name] === expected[name]) ? VALID : invalid('attestation_binding_mismatch')
}

const ATTESTATION_GATES: ReadonlySet<string> = new Set(['attestation_status', 'attestation_validity'])
const BUILT_IN_GATES: ReadonlySet<string> = new Set([
  ...ATTESTATION_GATES,
  'capability_check',
  'validity_window',
  'freshness_check',
  'freshness_proof',
])

/** Words of a denial, in the order they are looked for. */
const DENIAL_WORDS: readonly (readonly [string, DecisionMeaning])[] = [
  ['capability', 'unauthorized_capability_out_of_scope'],
  ['validity', 'unauthorized_outside_validity_window'],
  ['window', 'unauthorized_outside_validity_window'],
  ['freshness', 'unauthorized_insufficient_freshness'],
]

/** Rows 8 to 15 of protocol/trust-operations 4.10. */
export function meaningOf(decision: BoundaryDecision): DecisionMeaning {
  const { authorized, gate_results, policy_binding: binding, denial_reason } = decision
  if (authorized) return 'authorized'
  const failed = gate_results.filter(({ passed }) => !passed).map(({ gate_name }) => gate_name)
  if (failed.some((name) => ATTESTATION_GATES.has(name))) return 'unauthorized_attestation_basis'
  if (binding !== undefined && !failed.some((name) => BUILT_IN_GATES.has(name))) {
    if (binding.resolution_status === 'failed') return 'unauthorized_policy_resolution_failed'
    const isEnforced = binding.gate_evaluations.some(({ mode, passed }) => mode === 'enforce' && !passed)
    if (isEnforced) return 'unauthorized_policy_gate_failure'
  }
  const word = DENIAL_WORDS.find(([each]) => denial_reason?.includes(each) === true)
  return word?.[1] ?? 'unauthorized_gate_failure'
}
