import type { FeatureBase } from '../../core.ts'
import type { Connectome } from '../connectome/index.ts'

export interface TrustEvidenceParts extends FeatureBase {
  readonly connectome: Connectome
}
