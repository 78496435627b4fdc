import type { Core } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { Connectome } from '../connectome/index.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'
import type { TrustEvidenceIssuer } from '../trust-evidence/index.ts'

export interface AgreementsParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'clockCheck'
  | 'database'
  | 'ids'
  | 'keys'
  | 'log'
  | 'metrics'
  | 'network'
  | 'purgeClock'
  | 'signing'
> {
  readonly settings: Pick<AuthoritySettings, 'ownOfferAcceptance'>
  readonly connectome: Connectome
  readonly recognitionTreaties: RecognitionTreaties
  readonly trustEvidence: TrustEvidenceIssuer
}
