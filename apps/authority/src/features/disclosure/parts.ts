import type { Core } from '../../core.ts'
import type { Agreements } from '../agreements/index.ts'

export interface DisclosureParts extends Pick<
  Core,
  'audit' | 'clock' | 'genesis' | 'ids' | 'log' | 'metrics' | 'ownKeys' | 'signing' | 'database'
> {
  readonly agreements: Agreements
}
