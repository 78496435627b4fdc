import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Evidence } from '../evidence/index.ts'

export interface EvidenceLogParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'database'
  | 'instance'
  | 'isServing'
  | 'keys'
  | 'log'
  | 'logSigners'
  | 'network'
  | 'reads'
  | 'recordFaults'
  | 'rollback'
  | 'signing'
> {
  readonly settings: Pick<
    AuthoritySettings,
    'evidenceStore' | 'logOrigin' | 'logQuorum' | 'logWitnessRoots' | 'logWitnessSeconds' | 'logWitnesses'
  >
  readonly evidence: Pick<Evidence, 'subscribe'>
}
