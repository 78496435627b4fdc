import type { Core } from '../../core.ts'

export interface ConsensusParts extends Pick<
  Core,
  'audit' | 'clock' | 'database' | 'ids' | 'keys' | 'log' | 'metrics' | 'network' | 'signing'
> {}
