import type { FeatureBase } from '../../core.ts'
import type { Partners } from '../partners/index.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'

export interface ConsensusParts extends FeatureBase {
  readonly partners: Pick<Partners, 'acceptedKeys'>
  readonly recognitionTreaties: RecognitionTreaties
}
