import type { Core } from '../../core.ts'
import type { Agreements } from '../agreements/index.ts'

export interface DisclosureParts extends Pick<
  Core,
  'audit' | 'clock' | 'database' | 'ids' | 'keys' | 'log' | 'metrics' | 'network' | 'signing'
> {
  readonly agreements: Agreements
}
