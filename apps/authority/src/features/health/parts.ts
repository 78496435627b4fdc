import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { PublishedDocuments } from '../../requests/published-documents.ts'
import type { BoundaryPolicies } from '../boundary-policies/index.ts'
import type { Crl } from '../crl/index.ts'
import type { Enrollment } from '../enrollment/index.ts'
import type { KeySuccession } from '../key-succession/index.ts'
import type { Policy } from '../policy/index.ts'
import type { RevocationFeeds } from '../revocation-feeds/index.ts'

export interface HealthParts
  extends
    FeatureBase,
    Pick<
      Core,
      | 'clockCheck'
      | 'doWorkersRestart'
      | 'instance'
      | 'isServing'
      | 'keyCheck'
      | 'limits'
      | 'operatorKeysCheck'
      | 'recordFaults'
      | 'rollback'
      | 'verifiedTreaties'
      | 'versions'
    > {
  readonly settings: Pick<
    AuthoritySettings,
    | 'anchorIntervalSeconds'
    | 'boundaryPolicyEnforcement'
    | 'evidenceStore'
    | 'genesisWindow'
    | 'haMode'
    | 'keyWarningDays'
    | 'listReaderBytes'
    | 'logQuorum'
    | 'managementPort'
    | 'proxyHops'
  >
  readonly publishedDocuments: PublishedDocuments
  readonly boundaryPolicies: BoundaryPolicies
  readonly crl: Crl
  readonly enrollment: Enrollment
  readonly keySuccession: KeySuccession
  readonly policy: Policy
  readonly revocationFeeds: RevocationFeeds
}
