import { instantOf } from '../reading/text.ts'
import type { CheckedExecution } from './checked-payload.ts'
import type { ChainPosition, StoredDecision } from './chain-state.ts'
import type { StoreFailureReason } from './report.ts'

interface Broken {
  readonly reason: StoreFailureReason
  readonly detail: string
}

/** True while the decision authorizes: both ends belong to the window. */
export function isInsideDecisionWindow(
  executed_at: string,
  decision: Pick<StoredDecision, 'decision_made_at' | 'decision_valid_until'>,
): boolean {
  const at = instantOf(executed_at)
  return instantOf(decision.decision_made_at) <= at && at <= instantOf(decision.decision_valid_until)
}

/** What an execution may do is what its decision allowed, at that time. */
export function checkDecisionRules(record: CheckedExecution, decision: StoredDecision): Broken[] {
  const broken: Broken[] = []
  if (!decision.authorized) broken.push({ reason: 'evidence_decision_denied', detail: 'decision_id' })
  if (!isInsideDecisionWindow(record.executed_at, decision))
    broken.push({ reason: 'evidence_outside_decision_window', detail: 'executed_at' })
  if (record.executed_capability !== decision.capability)
    broken.push({ reason: 'evidence_capability_mismatch', detail: 'executed_capability' })
  return broken
}

/** The chain of one decision: 1, 2, 3, each naming the record before it. */
export function checkDecisionChain(
  record: CheckedExecution,
  last: ChainPosition | undefined,
  isWhole: boolean,
): Broken[] {
  // The decision is outside the run, so the start of its chain is unknown.
  if (last === undefined && !isWhole) return []
  const { sequence, digest } = last ?? { sequence: 0, digest: null }
  if (record.sequence_no !== sequence + 1) return [{ reason: 'evidence_chain_break', detail: 'sequence_no' }]
  if (record.prev_evidence_digest !== digest)
    return [{ reason: 'evidence_chain_break', detail: 'prev_evidence_digest' }]
  return []
}

/** The chain of one resource over all decisions. */
export function checkResourceChain(
  record: CheckedExecution,
  last: ChainPosition | undefined,
  isWhole: boolean,
): Broken[] {
  // Another resource that only shows in this view: its history before it is elsewhere.
  if (last === undefined && !isWhole && record.resource_sequence !== 1) return []
  const { sequence, digest } = last ?? { sequence: 0, digest: null }
  if (record.resource_sequence !== sequence + 1)
    return [{ reason: 'resource_chain_break', detail: 'resource_sequence' }]
  if ((record.prev_resource_digest ?? null) !== digest)
    return [{ reason: 'resource_chain_break', detail: 'prev_resource_digest' }]
  return []
}
