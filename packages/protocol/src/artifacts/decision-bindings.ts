import { digestOf } from '../canonical/digest.ts'
import { boolean, integer, oneOf, string } from '../reading/shape.ts'
import { identifier } from '../reading/text.ts'
import { type Kind, closedPart, listOf, orNull, yes } from '../reading/trust-form.ts'

/** A policy that was applied, by its exact content. */
export type AppliedPolicy = {
  readonly policy_id: string
  readonly version: number
  readonly policy_digest: string
  /** key_id on the policy's signature. */
  readonly signed_by: string
}

export type GateEvaluation = {
  readonly policy_id: string
  readonly policy_version: number
  readonly gate_id: string
  readonly gate_type: string
  readonly order: number
  readonly mode: string
  readonly passed: boolean
  readonly outcome: string
}

/** Which policies a decision rests on, and what they said (protocol/trust-operations 4.7). */
export type PolicyBinding = {
  /** In resolution order. */
  readonly policies: readonly AppliedPolicy[]
  readonly policy_set_digest: string
  /** In evaluation order; empty when a built-in gate or the resolution failed. */
  readonly gate_evaluations: readonly GateEvaluation[]
  readonly context_digest: string
  /** Sorted, distinct. */
  readonly registry_gate_types: readonly string[]
  readonly resolution_status: 'resolved' | 'failed'
  readonly resolution_failure: string | null
}

/** Which attestation a decision rests on; the nulls mean that it was not found. */
export type AttestationBinding = {
  readonly attestation_id: string
  readonly subject_id: string | null
  readonly issuer_sovereign_id: string | null
  /** H(C(attestation without signatures)) of the stored record, also when it did not verify. */
  readonly attestation_digest: string | null
  readonly revocation_seq_checked: number
}

const count = integer(0, Number.MAX_SAFE_INTEGER)

export const policyBinding: Kind<PolicyBinding> = closedPart({
  policies: yes(
    listOf(
      closedPart({
        policy_id: yes(identifier),
        version: yes(count),
        policy_digest: yes(string),
        signed_by: yes(string),
      }),
    ),
    [],
  ),
  policy_set_digest: yes(string),
  gate_evaluations: yes(
    listOf(
      closedPart({
        policy_id: yes(identifier),
        policy_version: yes(count),
        gate_id: yes(string),
        gate_type: yes(string),
        order: yes(count),
        mode: yes(string),
        passed: yes(boolean),
        outcome: yes(string),
      }),
    ),
    [],
  ),
  context_digest: yes(string),
  registry_gate_types: yes(listOf(string), []),
  resolution_status: yes(oneOf('resolved', 'failed')),
  resolution_failure: orNull(string),
})

export const attestationBinding: Kind<AttestationBinding> = closedPart({
  attestation_id: yes(identifier),
  subject_id: orNull(string),
  issuer_sovereign_id: orNull(string),
  attestation_digest: orNull(string),
  revocation_seq_checked: yes(count),
})

/** H(C([[policy_id, version, policy_digest], …])) in resolution order: the same policies in another order differ. */
export function policySetDigest(policies: readonly Omit<AppliedPolicy, 'signed_by'>[]): string {
  return digestOf(policies.map(({ policy_id, version, policy_digest }) => [policy_id, version, policy_digest]))
}
