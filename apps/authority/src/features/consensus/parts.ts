import type { FeatureBase } from '../../core.ts'

export interface ConsensusParts extends FeatureBase {}
