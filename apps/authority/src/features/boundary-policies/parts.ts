import type { FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Attestations } from '../attestations/index.ts'

export interface BoundaryPoliciesParts extends FeatureBase {
  readonly settings: Pick<
    AuthoritySettings,
    'boundaryPolicyEnforcement' | 'evidenceStore' | 'factOrigins' | 'factRoots'
  >
  readonly attestations: Attestations
}
