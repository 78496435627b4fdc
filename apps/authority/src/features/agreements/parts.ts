import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Connectome } from '../connectome/index.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'
import type { TrustEvidenceIssuer } from '../trust-evidence/index.ts'

export interface AgreementsParts extends FeatureBase, Pick<Core, 'clockCheck' | 'purgeClock'> {
  readonly settings: Pick<AuthoritySettings, 'ownOfferAcceptance'>
  readonly connectome: Connectome
  readonly recognitionTreaties: RecognitionTreaties
  readonly trustEvidence: TrustEvidenceIssuer
}
