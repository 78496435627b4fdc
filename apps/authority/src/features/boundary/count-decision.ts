import type { BoundaryDecision } from '@chancery/protocol'
import type { Asker } from '../../metrics.ts'
import type { BoundaryState } from './parts.ts'

/** Counts a decision that was stored; a repeat of an earlier one is not counted. */
export function countDecision(
  parts: BoundaryState,
  asked_by: Asker,
  decision: BoundaryDecision,
  isPresented: boolean,
): void {
  parts.metrics.boundaryDecisions.with({ asked_by, authorized: decision.authorized ? 'true' : 'false' }).increase()
  parts.decisionCounts.add(asked_by, decision, isPresented)
}
