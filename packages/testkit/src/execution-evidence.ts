import { randomUUID } from 'node:crypto'
import { executionEvidenceForm, signForm } from '@chancery/protocol'
import type { BoundaryDecision, ExecutionEvidence, Signer } from '@chancery/protocol'

/** What the executor of tests and benches does, and as whom. */
export const EXECUTED_CAPABILITY = 'secret.rotate'
export const EXECUTOR_SOVEREIGN = 'rotator'

/** Evidence of an action on this decision, by default the first record of its chain. */
export function signExecution(
  decision: BoundaryDecision,
  executor: Signer,
  more: Partial<ExecutionEvidence> = {},
): Promise<ExecutionEvidence> {
  const draft: ExecutionEvidence = {
    evidence_id: randomUUID(),
    sequence_no: 1,
    decision_id: decision.decision_id,
    context_id: decision.context_id,
    agreement_id: decision.agreement_id,
    executor_sovereign_id: EXECUTOR_SOVEREIGN,
    executed_capability: EXECUTED_CAPABILITY,
    execution_parameters: { secret_version: '7' },
    executed_at: decision.decision_made_at,
    outcome: 'success',
    outcome_detail: null,
    prev_evidence_digest: null,
    signature: null,
    ...more,
  }
  return signForm(executionEvidenceForm, draft, executor)
}
