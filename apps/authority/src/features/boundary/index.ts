import { boundary, budgets } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { budgetStatus } from './budget-status.ts'
import { decide } from './decide.ts'
import { DecisionCounts, type RecentDecisions } from './decision-counts.ts'
import { evaluate } from './evaluate.ts'
import type { BoundaryParts, BoundaryState } from './context.ts'
import { request } from './request.ts'
import { type JsonObject, boundaryDecisionForm, readReceived, verifyBoundaryDecision } from '@chancery/protocol'
import type { Call } from '@chancery/service-kit'
import { ownKeysAt } from '../../signing/own-keys.ts'
import { readOrRefuse, readTrustKeys, recordVerification, requirePresent } from '../../requests/read-fields.ts'

export type { RecentDecisions } from './decision-counts.ts'

/**
 * POST /boundary/verify
 * Verifies a decision and returns its content. Accepted does not mean permitted: check `authorized` as well. Writes
 * nothing.
 */
async function verify(call: Call, parts: BoundaryParts): Promise<JsonObject> {
  const given = requirePresent(call.body, 'decision', 'missing_decision')
  const decision = readOrRefuse('invalid_decision', () => readReceived(boundaryDecisionForm, given))
  const keys = readTrustKeys(call.body, 'operator_public_keys', ownKeysAt(parts.keys, decision.record.decision_made_at))
  const { accepted, reason } = await verifyBoundaryDecision(decision, { keys, now: parts.clock.now() })
  recordVerification(call, parts, accepted, reason)
  const { authorized, decision_id } = decision.record
  return { accepted, authorized, reason, decision_id }
}

export interface Boundary extends Feature {
  readRecentDecisions(): Promise<RecentDecisions>
  /** Writes the counts that are in memory. */
  flushDecisionCounts(): Promise<void>
}

export function openBoundary(given: BoundaryParts): Boundary {
  const decisionCounts = new DecisionCounts(given)
  const parts: BoundaryState = { ...given, decisionCounts }
  return {
    routes: [
      bind(boundary.evaluate, (call) => evaluate(call, parts)),
      bind(boundary.request, (call) => request(call, parts)),
      bind(boundary.decide, (call) => decide(call, parts)),
      bind(budgets.status, (call) => budgetStatus(call, parts)),
      bind(boundary.verify, (call) => verify(call, parts)),
    ],
    jobs: [{ name: 'count-decisions', everySeconds: 5, run: () => decisionCounts.flush() }],
    readRecentDecisions: () => decisionCounts.read(),
    flushDecisionCounts: () => decisionCounts.flush(),
    async close() {
      try {
        await decisionCounts.flush()
      } catch (error) {
        // Only the dashboard misses them.
        given.log.warn('the last decision counts could not be stored', { error })
      }
    },
  }
}
