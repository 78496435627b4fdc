import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface EvidenceParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'database'
  | 'ids'
  | 'instance'
  | 'isServing'
  | 'keys'
  | 'limits'
  | 'log'
  | 'metrics'
  | 'network'
  | 'purgeClock'
  | 'rollback'
  | 'signing'
> {
  readonly settings: Pick<
    AuthoritySettings,
    'anchorIntervalSeconds' | 'databaseLocation' | 'evidenceRejections' | 'evidenceStore' | 'rejectionKeptDays'
  >
}
