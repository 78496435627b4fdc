import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface EnrollmentParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'clockCheck'
  | 'database'
  | 'ids'
  | 'instance'
  | 'keys'
  | 'limits'
  | 'network'
  | 'newestBlock'
  | 'operators'
  | 'purgeClock'
  | 'rollback'
  | 'signing'
> {
  readonly settings: Pick<
    AuthoritySettings,
    'allowedRoles' | 'certificateKeptDays' | 'heartbeatSeconds' | 'inviteKeptDays' | 'renewalGraceSeconds'
  >
}
