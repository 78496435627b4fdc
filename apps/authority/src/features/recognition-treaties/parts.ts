import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Connectome } from '../connectome/index.ts'

export interface RecognitionTreatiesParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'genesis'
  | 'ids'
  | 'log'
  | 'metrics'
  | 'ownKeys'
  | 'recordFaults'
  | 'signer'
  | 'signing'
  | 'database'
  | 'verifiedTreaties'
> {
  readonly settings: Pick<AuthoritySettings, 'allowedRoles'>
  readonly connectome: Connectome
}
