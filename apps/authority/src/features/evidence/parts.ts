import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'

export interface EvidenceParts
  extends FeatureBase, Pick<Core, 'instance' | 'isServing' | 'limits' | 'purgeClock' | 'reads' | 'rollback'> {
  readonly settings: Pick<
    AuthoritySettings,
    | 'anchorIntervalSeconds'
    | 'databaseLocation'
    | 'evidenceRejections'
    | 'evidenceStore'
    | 'keyBytesPerDay'
    | 'partnerBytesPerDay'
  >
}
