import { digestOf } from '../canonical/digest.ts'
import type { ReadBy } from '../reading/schema.ts'
import { boolean, integer, oneOf, string } from '../reading/shape.ts'
import { identifier } from '../reading/text.ts'
import { closedPart, listOf, orNull, yes } from '../reading/trust-form.ts'

const count = integer(0, Number.MAX_SAFE_INTEGER)

const appliedPolicy = closedPart({
  policy_id: yes(identifier),
  version: yes(count),
  policy_digest: yes(string),
  /** key_id on the policy's signature. */
  signed_by: yes(string),
})

/** A policy that was applied, by its exact content. */
export type AppliedPolicy = ReadBy<typeof appliedPolicy>

const gateEvaluation = closedPart({
  policy_id: yes(identifier),
  policy_version: yes(count),
  gate_id: yes(string),
  gate_type: yes(string),
  order: yes(count),
  mode: yes(string),
  passed: yes(boolean),
  outcome: yes(string),
})

export type GateEvaluation = ReadBy<typeof gateEvaluation>

export const policyBinding = closedPart({
  /** In resolution order. */
  policies: yes(listOf(appliedPolicy), []),
  policy_set_digest: yes(string),
  /** In evaluation order; empty when a built-in gate or the resolution failed. */
  gate_evaluations: yes(listOf(gateEvaluation), []),
  context_digest: yes(string),
  /** Sorted, distinct. */
  registry_gate_types: yes(listOf(string), []),
  resolution_status: yes(oneOf('resolved', 'failed')),
  resolution_failure: orNull(string),
})

/** Which policies a decision rests on, and what they said (protocol/trust-operations 4.7). */
export type PolicyBinding = ReadBy<typeof policyBinding>

export const attestationBinding = closedPart({
  attestation_id: yes(identifier),
  subject_id: orNull(string),
  issuer_sovereign_id: orNull(string),
  /** H(C(attestation without signatures)) of the stored record, also when it did not verify. */
  attestation_digest: orNull(string),
  revocation_seq_checked: yes(count),
})

/** Which attestation a decision rests on; the nulls mean that it was not found. */
export type AttestationBinding = ReadBy<typeof attestationBinding>

/** H(C([[policy_id, version, policy_digest], …])) in resolution order: the same policies in another order differ. */
export function policySetDigest(policies: readonly Omit<AppliedPolicy, 'signed_by'>[]): string {
  return digestOf(policies.map(({ policy_id, version, policy_digest }) => [policy_id, version, policy_digest]))
}
