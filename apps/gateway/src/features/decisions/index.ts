import { GATEWAY_ROUTES } from '@chancery/contract'
import type { Core, Feature } from '../../core.ts'
import { StoredVerdicts } from '../../trust/stored-verdicts.ts'
import { accessEvaluation } from './access-evaluation.ts'
import { accessEvaluations } from './access-evaluations.ts'
import { authzenConfiguration } from './authzen-configuration.ts'
import { DecisionCache } from './decision-cache.ts'
import type { DecisionParts } from './parts.ts'

// The HTTP check asks for decisions in the same way.
export { decide, recordRefused } from './decide.ts'
export { DecisionCache } from './decision-cache.ts'
export type { AskingCall, DecisionParts } from './parts.ts'
export { isDeciding } from './question.ts'
export type { DecidingNetwork, Question } from './question.ts'

/** Opens the decision point: questions in the form of AuthZEN 1.0, answered with decisions of the authorities. */
export function openDecisions(core: Pick<Core, 'authorities' | 'clock' | 'ids' | 'metrics' | 'quota'>): Feature {
  const { authorities, clock, ids, metrics, quota } = core
  const [cache, verdicts] = [new DecisionCache(clock), new StoredVerdicts()]
  const parts: DecisionParts = { authorities, clock, ids, metrics, quota, cache, verdicts }
  return {
    routes: [
      { route: GATEWAY_ROUTES.accessEvaluation, client: (call) => accessEvaluation(call, parts) },
      { route: GATEWAY_ROUTES.accessEvaluations, client: (call) => accessEvaluations(call, parts) },
      { route: GATEWAY_ROUTES.authzenConfiguration, open: authzenConfiguration },
    ],
    jobs: [],
    close: async () => undefined,
  }
}
