import type { Core, FeatureBase } from '../../core.ts'
import type { Admission } from '../admission/index.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface EnrollmentParts
  extends
    FeatureBase,
    Pick<
      Core,
      | 'activeWindow'
      | 'claimNewest'
      | 'clockCheck'
      | 'instance'
      | 'limits'
      | 'newestBlock'
      | 'operators'
      | 'purgeClock'
      | 'reads'
      | 'rollback'
    > {
  readonly admission: Pick<Admission, 'verifyEvidence' | 'claimEvidence' | 'findRejoinRule'>
  readonly settings: Pick<
    AuthoritySettings,
    | 'allowedRoles'
    | 'certificateKeptDays'
    | 'heartbeatMode'
    | 'heartbeatSeconds'
    | 'publicUrl'
    | 'renewalGraceSeconds'
    | 'wimseTrustDomain'
  >
}
