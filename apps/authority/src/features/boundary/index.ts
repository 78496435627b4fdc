import { boundary } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { decide } from './decide.ts'
import { DecisionCounts, type RecentDecisions } from './decision-counts.ts'
import { evaluate } from './evaluate.ts'
import type { BoundaryParts, BoundaryState } from './parts.ts'
import { request } from './request.ts'
import { verify } from './verify.ts'

export type { RecentDecisions } from './decision-counts.ts'

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
