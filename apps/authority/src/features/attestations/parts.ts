import type { FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Connectome } from '../connectome/index.ts'
import type { RecognitionPolicy } from '../recognition-policy/index.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'
import type { RevocationFeeds } from '../revocation-feeds/index.ts'

export interface AttestationsParts extends FeatureBase {
  readonly settings: Pick<AuthoritySettings, 'allowedRoles' | 'publicAttestationList'>
  readonly connectome: Connectome
  readonly recognitionPolicy: RecognitionPolicy
  readonly recognitionTreaties: RecognitionTreaties
  readonly revocationFeeds: RevocationFeeds
}
