import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Evidence } from '../evidence/index.ts'

export interface EvidenceLogParts extends Pick<
  Core,
  'clock' | 'database' | 'isServing' | 'keys' | 'log' | 'network' | 'recordFaults' | 'rollback' | 'signing'
> {
  readonly settings: Pick<AuthoritySettings, 'evidenceStore'>
  readonly evidence: Pick<Evidence, 'subscribe'>
}
