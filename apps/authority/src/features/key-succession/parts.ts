import type { Core } from '../../core.ts'
import type { Crl } from '../crl/index.ts'
import type { EvidenceLog } from '../evidence-log/index.ts'
import type { Policy } from '../policy/index.ts'
import type { RevocationFeeds } from '../revocation-feeds/index.ts'

export interface KeySuccessionParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'database'
  | 'findKey'
  | 'gates'
  | 'instance'
  | 'keyOwnerCheck'
  | 'keys'
  | 'log'
  | 'network'
  | 'operators'
  | 'signing'
> {
  readonly crl: Crl
  readonly evidenceLog: EvidenceLog
  readonly policy: Policy
  readonly revocationFeeds: RevocationFeeds
}
