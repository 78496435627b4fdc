import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface AdmissionParts extends FeatureBase, Pick<Core, 'clockCheck' | 'limits' | 'operators' | 'purgeClock'> {
  readonly settings: Pick<AuthoritySettings, 'admissionAddresses' | 'admissionRoots' | 'allowedRoles'>
}
