import type { Core } from '../../core.ts'

export interface DataUsageParts extends Pick<
  Core,
  'audit' | 'clock' | 'database' | 'ids' | 'keys' | 'log' | 'metrics' | 'network' | 'signing'
> {}
