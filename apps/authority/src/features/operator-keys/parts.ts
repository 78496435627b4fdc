import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Admission } from '../admission/index.ts'
import type { Enrollment } from '../enrollment/index.ts'

export interface OperatorKeysParts extends Pick<
  Core,
  'activeWindow' | 'audit' | 'clock' | 'database' | 'limits' | 'network' | 'operators'
> {
  readonly admission: Admission
  readonly enrollment: Enrollment
  readonly settings: Pick<AuthoritySettings, 'allowedRoles' | 'heartbeatSeconds' | 'passkeys' | 'renewalGraceSeconds'>
}
