import type { FeatureBase } from '../../core.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'

export interface ConsensusParts extends FeatureBase {
  readonly recognitionTreaties: RecognitionTreaties
}
