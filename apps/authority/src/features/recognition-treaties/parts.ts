import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Connectome } from '../connectome/index.ts'

export interface RecognitionTreatiesParts extends FeatureBase, Pick<Core, 'recordFaults' | 'verifiedTreaties'> {
  readonly settings: Pick<AuthoritySettings, 'allowedRoles'>
  readonly connectome: Connectome
}
