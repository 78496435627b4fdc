import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface EnrollmentParts
  extends
    FeatureBase,
    Pick<Core, 'clockCheck' | 'instance' | 'limits' | 'newestBlock' | 'operators' | 'purgeClock' | 'rollback'> {
  readonly settings: Pick<
    AuthoritySettings,
    'allowedRoles' | 'certificateKeptDays' | 'heartbeatSeconds' | 'inviteKeptDays' | 'renewalGraceSeconds'
  >
}
