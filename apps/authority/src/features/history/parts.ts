import type { FeatureBase } from '../../core.ts'

export type HistoryParts = Pick<FeatureBase, 'clock' | 'database' | 'ids' | 'keys' | 'log' | 'network' | 'signing'>
