import type { Core } from '../../core.ts'

export interface ConsensusParts extends Pick<
  Core,
  'audit' | 'clock' | 'genesis' | 'ids' | 'log' | 'metrics' | 'ownKeys' | 'signer' | 'signing' | 'database'
> {}
