import type { FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Evidence } from '../evidence/index.ts'

export interface DataUsageParts extends FeatureBase {
  readonly evidence: Pick<Evidence, 'recordViolation'>
  readonly settings: Pick<AuthoritySettings, 'evidenceStore'>
}
