import type { Core } from '../../core.ts'

export interface DataUsageParts extends Pick<
  Core,
  'audit' | 'clock' | 'genesis' | 'ids' | 'log' | 'metrics' | 'ownKeys' | 'signing' | 'database'
> {}
