import type { Core } from '../core.ts'
import type { Crl } from '../features/crl/index.ts'
import type { RevocationFeeds } from '../features/revocation-feeds/index.ts'

export interface RecoveryParts extends Pick<
  Core,
  'audit' | 'clock' | 'clockCheck' | 'database' | 'keys' | 'network' | 'rollback'
> {
  readonly crl: Crl
  readonly revocationFeeds: RevocationFeeds
}
