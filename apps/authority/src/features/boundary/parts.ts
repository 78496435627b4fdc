import type { FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Agreements } from '../agreements/index.ts'
import type { Attestations } from '../attestations/index.ts'
import type { BoundaryPolicies } from '../boundary-policies/index.ts'
import type { Evidence } from '../evidence/index.ts'

export interface BoundaryParts extends FeatureBase {
  readonly settings: Pick<AuthoritySettings, 'boundaryPolicyEnforcement' | 'requireParentKind'>
  readonly agreements: Agreements
  readonly attestations: Attestations
  readonly boundaryPolicies: BoundaryPolicies
  readonly evidence: Evidence
}
