import type { FeatureBase } from '../../core.ts'
import type { Agreements } from '../agreements/index.ts'

export interface DisclosureParts extends FeatureBase {
  readonly agreements: Agreements
}
