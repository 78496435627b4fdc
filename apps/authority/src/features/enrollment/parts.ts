import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface EnrollmentParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'clockCheck'
  | 'genesis'
  | 'ids'
  | 'instance'
  | 'limiter'
  | 'newestBlock'
  | 'operators'
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
    'allowedRoles' | 'certificateKeptDays' | 'heartbeatSeconds' | 'inviteKeptDays' | 'limits' | 'renewalGraceSeconds'
  >
}
