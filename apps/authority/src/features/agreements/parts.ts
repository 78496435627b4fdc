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
  | 'genesis'
  | 'ids'
  | 'log'
  | 'metrics'
  | 'ownKeys'
  | 'purgeClock'
  | 'signer'
  | 'signing'
  | 'database'
> {
  readonly settings: Pick<AuthoritySettings, 'ownOfferAcceptance'>
  readonly connectome: Connectome
  readonly recognitionTreaties: RecognitionTreaties
  readonly trustEvidence: TrustEvidenceIssuer
}
