import type { FeatureBase } from '../../core.ts'

export interface DataUsageParts extends FeatureBase {}
