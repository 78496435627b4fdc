import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Evidence } from '../evidence/index.ts'

export interface EvidenceLogParts extends Pick<
  Core,
  | 'clock'
  | 'genesis'
  | 'isServing'
  | 'log'
  | 'ownKeys'
  | 'recordFaults'
  | 'rollbackCheck'
  | 'signer'
  | 'signing'
  | 'database'
> {
  readonly settings: Pick<AuthoritySettings, 'evidenceStore'>
  readonly evidence: Pick<Evidence, 'subscribe'>
}
