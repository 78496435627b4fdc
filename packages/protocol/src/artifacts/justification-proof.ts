import type { ReadBy } from '../reading/schema.ts'
import { boolean, object, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { closedPart, listOf, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'
import { type Received, verifyReceivedPlainly } from '../signing/received.ts'
import type { BoundaryDecision } from './boundary-decision.ts'
import { VALID, type Verdict, invalid } from './verdict.ts'

const entry = closedPart({
  gate_name: yes(string),
  gate_type: yes(string),
  evaluated_at: yes(timestamp),
  inputs: yes(object, {}),
  result: yes(boolean),
  reason: yes(string),
  metadata: yes(object, {}),
})

export type GateTraceEntry = ReadBy<typeof entry>

const gateTrace = closedPart({
  trace_id: yes(identifier),
  decision_id: yes(identifier),
  agreement_id: yes(identifier),
  operator_sovereign_id: yes(identifier),
  traced_at: yes(timestamp),
  /** One per gate result, in the same order. */
  entries: yes(listOf(entry), []),
  /** The first gate whose failure denies; null when authorized. */
  short_circuited_at: orNull(string),
  final_authorized: yes(boolean),
})

export type GateTrace = ReadBy<typeof gateTrace>

export const justificationForm = signedOnceForm({
  proof_id: yes(identifier),
  decision_id: yes(identifier),
  trace: yes(gateTrace),
  proof_issued_at: yes(timestamp),
  issuer_sovereign_id: yes(identifier),
})

/** Why a decision came out as it did (protocol/trust-operations 4.9). */
export type JustificationProof = ReadBy<typeof justificationForm>

export type JustificationReason =
  | 'missing_signature'
  | 'invalid_signature'
  | 'decision_id_mismatch'
  | 'trace_entry_count_mismatch'
  | 'trace_gate_mismatch'
  | 'short_circuit_inconsistent'

/**
 * protocol/trust-operations 4.9, in this order; from step 3 on only against a given decision.
 * 1. signed, 2. by an accepted key;
 * 3. it names this decision: the reasons of another one would explain anything;
 * 4. one entry for each gate, 5. of the same name and result: a gate left out or turned round is a false account;
 * 6. it stopped somewhere exactly when the decision denies.
 */
export async function verifyJustification(
  proof: Received<JustificationProof>,
  keys: readonly string[],
  decision?: BoundaryDecision,
): Promise<Verdict<JustificationReason>> {
  const signed = await verifyReceivedPlainly(proof, keys)
  if (!signed.ok || decision === undefined) return signed
  const { decision_id, trace } = proof.record
  const { gate_results } = decision
  if (decision_id !== decision.decision_id) return invalid('decision_id_mismatch')
  if (trace.entries.length !== gate_results.length) return invalid('trace_entry_count_mismatch')
  const isSame = trace.entries.every(({ gate_name, result }, at) => {
    const gate = gate_results[at]
    return gate !== undefined && gate_name === gate.gate_name && result === gate.passed
  })
  if (!isSame) return invalid('trace_gate_mismatch')
  return (trace.short_circuited_at === null) === decision.authorized ? VALID : invalid('short_circuit_inconsistent')
}
