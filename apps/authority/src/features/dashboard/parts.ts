import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Boundary } from '../boundary/index.ts'
import type { BoundaryPolicies } from '../boundary-policies/index.ts'
import type { Connectome } from '../connectome/index.ts'
import type { Enrollment } from '../enrollment/index.ts'
import type { Health } from '../health/index.ts'
import type { KeySuccession } from '../key-succession/index.ts'
import type { GrantedPatterns } from './granted-patterns.ts'

export interface DashboardParts extends Pick<Core, 'clock' | 'database' | 'network' | 'operators' | 'signing'> {
  readonly settings: Pick<AuthoritySettings, 'publicAttestationList' | 'publicUrl'>
  readonly boundary: Boundary
  readonly boundaryPolicies: BoundaryPolicies
  readonly connectome: Connectome
  readonly enrollment: Enrollment
  readonly health: Health
  readonly keySuccession: KeySuccession
}

/** What the routes use, with the state of the feature. */
export interface DashboardState extends DashboardParts {
  readonly granted: GrantedPatterns
}
