import type { FeatureBase, Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'
import type { RevocationFeeds } from '../revocation-feeds/index.ts'

export interface PartnersParts extends FeatureBase, Pick<Core, 'instance'> {
  readonly settings: Pick<
    AuthoritySettings,
    'partners' | 'partnersMax' | 'partnerAddresses' | 'partnerRoots' | 'publicUrl'
  >
  readonly recognitionTreaties: RecognitionTreaties
  readonly revocationFeeds: RevocationFeeds
}
