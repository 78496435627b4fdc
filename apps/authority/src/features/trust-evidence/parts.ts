import type { Core } from '../../core.ts'
import type { Connectome } from '../connectome/index.ts'

export interface TrustEvidenceParts extends Pick<
  Core,
  'audit' | 'clock' | 'genesis' | 'ids' | 'log' | 'metrics' | 'ownKeys' | 'signer' | 'signing' | 'database'
> {
  readonly connectome: Connectome
}
