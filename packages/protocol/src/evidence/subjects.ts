import type { BoundaryDecision } from '../artifacts/boundary-decision.ts'
import { type EntrySubject, NO_SUBJECT } from '../artifacts/evidence-store-entry.ts'
import type { ExecutionEvidence } from '../artifacts/execution-evidence.ts'
import { digestOf } from '../canonical/digest.ts'
import { type JsonObject, isJsonObject, member } from '../canonical/json-value.ts'

/** What an envelope takes from a decision and its context. */
export interface DecisionParts {
  readonly decision: {
    readonly decision_id: string
    readonly context_id: string
    readonly authorized: boolean
    readonly attestation_binding?: { readonly subject_id: string | null } | null
  }
  readonly context: {
    readonly requester_sovereign_id: string
    readonly requested_capability: string
    readonly attestation_id?: string | null
  }
}

/** The envelope of a decision; its justification says the same under another kind (protocol/trust-operations 6.2). */
export function decisionSubject({ decision, context }: DecisionParts): EntrySubject {
  return {
    ...NO_SUBJECT,
    entry_kind: 'decision',
    decision_id: decision.decision_id,
    context_id: decision.context_id,
    // The subject of the attestation; without one, the requesting party.
    vendor_id: decision.attestation_binding?.subject_id ?? context.requester_sovereign_id,
    attestation_id: context.attestation_id ?? null,
    capability: context.requested_capability,
    outcome: decision.authorized ? 'authorized' : 'denied',
  }
}

/** The envelope of an execution; vendor and attestation are those of the decision it rests on. */
export function executionSubject(
  record: ExecutionEvidence,
  decision: Pick<EntrySubject, 'vendor_id' | 'attestation_id'>,
): EntrySubject {
  return {
    entry_kind: 'execution',
    decision_id: record.decision_id,
    context_id: record.context_id,
    vendor_id: decision.vendor_id,
    attestation_id: decision.attestation_id,
    capability: record.executed_capability,
    outcome: record.outcome,
    evidence_id: record.evidence_id,
    executor_sovereign_id: record.executor_sovereign_id,
    exec_sequence_no: record.sequence_no,
    resource_id: record.resource_id ?? null,
    resource_action: record.resource_action ?? null,
    resource_sequence: record.resource_sequence ?? null,
  }
}

export const CHECKPOINT_SUBJECT: EntrySubject = { ...NO_SUBJECT, entry_kind: 'retention_checkpoint' }

/** Whether the attestation of a partner in the payload of a decision, if any, is the one that the decision names. */
export function isPresentedBound(
  payload: JsonObject,
  { attestation_binding }: Pick<BoundaryDecision, 'attestation_binding'>,
): boolean {
  const attestation = member(payload, 'attestation')
  if (attestation === undefined) return true
  if (!isJsonObject(attestation) || attestation_binding === undefined) return false
  const { signatures: _signatures, ...body } = attestation
  const { attestation_id, attestation_digest } = attestation_binding
  return body['attestation_id'] === attestation_id && digestOf(body) === attestation_digest
}
