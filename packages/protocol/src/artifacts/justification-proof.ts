import type { JsonObject, JsonValue } from '../canonical/json-value.ts'
import { boolean, object, string } from '../reading/shape.ts'
import { identifier, timestamp } from '../reading/text.ts'
import { closedPart, listOf, orNull, signedOnceForm, yes } from '../reading/trust-form.ts'
import type { RecordForm } from '../reading/trust-form.ts'
import type { Signature } from '../signing/forms.ts'
import { readReceived } from '../signing/received.ts'
import type { Received } from '../signing/received.ts'

export type GateTraceEntry = {
  readonly gate_name: string
  readonly gate_type: string
  readonly evaluated_at: string
  readonly inputs: JsonObject
  readonly result: boolean
  readonly reason: string
  readonly metadata: JsonObject
}

export type GateTrace = {
  readonly trace_id: string
  readonly decision_id: string
  readonly agreement_id: string
  readonly operator_sovereign_id: string
  readonly traced_at: string
  readonly entries: readonly GateTraceEntry[]
  readonly short_circuited_at: string | null
  readonly final_authorized: boolean
}

/** Why a boundary decision came out as it did, gate by gate (protocol/trust-operations 4.9). */
export type JustificationProof = {
  readonly proof_id: string
  readonly decision_id: string
  readonly trace: GateTrace
  readonly proof_issued_at: string
  readonly issuer_sovereign_id: string
  readonly signature: Signature | null
}

const entry = closedPart({
  gate_name: yes(string),
  gate_type: yes(string),
  evaluated_at: yes(timestamp),
  inputs: yes(object, {}),
  result: yes(boolean),
  reason: yes(string),
  metadata: yes(object, {}),
})

const trace = closedPart({
  trace_id: yes(identifier),
  decision_id: yes(identifier),
  agreement_id: yes(identifier),
  operator_sovereign_id: yes(identifier),
  traced_at: yes(timestamp),
  entries: yes(listOf(entry), []),
  short_circuited_at: orNull(string),
  final_authorized: yes(boolean),
})

export const justificationForm: RecordForm<JustificationProof> = signedOnceForm({
  proof_id: yes(identifier),
  decision_id: yes(identifier),
  trace: yes(trace),
  proof_issued_at: yes(timestamp),
  issuer_sovereign_id: yes(identifier),
})

export function readJustificationProof(value: JsonValue): Received<JustificationProof> {
  return readReceived(justificationForm, value)
}
