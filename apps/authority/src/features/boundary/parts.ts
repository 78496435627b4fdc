import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Agreements } from '../agreements/index.ts'
import type { Attestations } from '../attestations/index.ts'
import type { BoundaryPolicies } from '../boundary-policies/index.ts'
import type { Enrollment } from '../enrollment/index.ts'
import type { Evidence } from '../evidence/index.ts'
import type { Partners } from '../partners/index.ts'
import type { RecognitionPolicy } from '../recognition-policy/index.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'
import type { RevocationFeeds } from '../revocation-feeds/index.ts'
import type { DecisionCounts } from './decision-counts.ts'

export interface BoundaryParts
  extends FeatureBase, Pick<Core, 'limits' | 'nonces' | 'operators' | 'revokedOperatorKeys' | 'rollback' | 'versions'> {
  readonly settings: Pick<
    AuthoritySettings,
    | 'boundaryPolicyEnforcement'
    | 'decisionRelayRoles'
    | 'evidenceStore'
    | 'foreignFeedMaxAgeSeconds'
    | 'nodeDecisions'
    | 'partnerContactMaxAgeSeconds'
    | 'requireParentKind'
  >
  readonly agreements: Agreements
  readonly attestations: Attestations
  readonly boundaryPolicies: BoundaryPolicies
  readonly enrollment: Pick<Enrollment, 'findCertificate'>
  readonly evidence: Evidence
  readonly partners: Pick<Partners, 'freshness'>
  readonly recognitionPolicy: RecognitionPolicy
  readonly recognitionTreaties: RecognitionTreaties
  readonly revocationFeeds: RevocationFeeds
}

/** What the routes use, with the state of the feature. */
export interface BoundaryState extends BoundaryParts {
  readonly decisionCounts: DecisionCounts
}
