import { type ExecutionEvidence, hasSecretMaterial } from '@chancery/protocol'
import { type Heads, laterHead, pendingDecisionHead, pendingResourceHead } from './chains.ts'
import { EMPTY_CHAIN, type Intent, type OutboxEntry } from './outbox.ts'

export interface Outcome {
  readonly outcome: ExecutionEvidence['outcome']
  readonly outcome_detail: string | null
}

/** The ends of both chains: stored records, then queued ones. */
export function headsFor({ decision_id, resource }: Intent, entries: readonly OutboxEntry[]): Heads {
  return {
    decision: laterHead(EMPTY_CHAIN, pendingDecisionHead(entries, decision_id)),
    resource:
      resource === null ? EMPTY_CHAIN : laterHead(resource.head, pendingResourceHead(entries, resource.resource_id)),
  }
}

/** Returns the unsigned record of an action, after these heads. */
export function draftEvidence(intent: Intent, { outcome, outcome_detail }: Outcome, heads: Heads): ExecutionEvidence {
  const { resource, ...facts } = intent
  const draft: ExecutionEvidence = {
    ...facts,
    sequence_no: 1,
    outcome,
    // A long text of the caller or of an error must not cause a refusal of the record.
    outcome_detail: hasSecretMaterial(intent.execution_parameters, outcome_detail) ? 'withheld' : outcome_detail,
    prev_evidence_digest: null,
    ...(resource === null
      ? {}
      : { resource_id: resource.resource_id, resource_action: resource.resource_action, resource_sequence: 1 }),
    signature: null,
  }
  return withSequenceAfter(draft, heads)
}

/** Returns the unsigned record after these heads. */
export function withSequenceAfter(record: ExecutionEvidence, { decision, resource }: Heads): ExecutionEvidence {
  const { prev_resource_digest: _old, ...rest } = record
  return {
    ...rest,
    sequence_no: decision.sequence + 1,
    prev_evidence_digest: decision.digest,
    ...(record.resource_id === undefined ? {} : { resource_sequence: resource.sequence + 1 }),
    ...(record.resource_id === undefined || resource.digest === null ? {} : { prev_resource_digest: resource.digest }),
    signature: null,
  }
}
