import type { Core, FeatureBase } from '../../core.ts'
import type { AuthoritySettings } from '../../settings/authority-settings.ts'
import type { PublishedDocuments } from '../../requests/published-documents.ts'
import type { RecognitionTreaties } from '../recognition-treaties/index.ts'

export interface RevocationFeedsParts
  extends FeatureBase, Pick<Core, 'purgeClock' | 'recordFaults' | 'rollback' | 'versions'> {
  readonly settings: Pick<AuthoritySettings, 'feedPruneMarginSeconds' | 'feedRefreshSeconds'>
  readonly publishedDocuments: PublishedDocuments
  readonly recognitionTreaties: RecognitionTreaties
}
