import type { Core } from '../../core.ts'
import type { DecisionParts } from '../decisions/index.ts'
import type { TokenMetrics } from './token-metrics.ts'

/** Lists what the handlers of this feature use. */
export interface TokenParts
  extends
    DecisionParts,
    Pick<
      Core,
      'settings' | 'trust' | 'state' | 'audit' | 'refusals' | 'log' | 'access' | 'failures' | 'checks' | 'isServing'
    > {
  readonly tokens: TokenMetrics
}
