import type { Core } from '../../core.ts'
import type { DecisionCache } from './decision-cache.ts'

/** Lists what the handlers of this feature use. */
export interface DecisionParts extends Pick<Core, 'authorities' | 'clock' | 'ids' | 'metrics' | 'quota'> {
  readonly cache: DecisionCache
}
