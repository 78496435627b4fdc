import type { Core } from '../../core.ts'
import type { Connectome } from '../connectome/index.ts'

export interface TrustEvidenceParts extends Pick<
  Core,
  'audit' | 'clock' | 'database' | 'ids' | 'keys' | 'log' | 'metrics' | 'network' | 'signing'
> {
  readonly connectome: Connectome
}
