import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface EvidenceParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'genesis'
  | 'ids'
  | 'instance'
  | 'isServing'
  | 'log'
  | 'metrics'
  | 'ownKeys'
  | 'processLimiter'
  | 'purgeClock'
  | 'rollbackCheck'
  | 'signer'
  | 'signing'
  | 'database'
> {
  readonly settings: Pick<
    AuthoritySettings,
    'anchorIntervalSeconds' | 'databaseLocation' | 'evidenceRejections' | 'evidenceStore' | 'rejectionKeptDays'
  >
}
