import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Connectome } from '../connectome/index.ts'

export interface RecognitionTreatiesParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'database'
  | 'ids'
  | 'keys'
  | 'log'
  | 'metrics'
  | 'network'
  | 'recordFaults'
  | 'signing'
  | 'verifiedTreaties'
> {
  readonly settings: Pick<AuthoritySettings, 'allowedRoles'>
  readonly connectome: Connectome
}
