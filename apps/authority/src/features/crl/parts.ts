import type { Core, FeatureBase } from '../../core.ts'
import type { PublishedDocuments } from '../../requests/published-documents.ts'

export interface CrlParts
  extends
    FeatureBase,
    Pick<
      Core,
      | 'clockCheck'
      | 'findKey'
      | 'instance'
      | 'newestBlock'
      | 'purgeClock'
      | 'reads'
      | 'recordFaults'
      | 'rollback'
      | 'versions'
    > {
  readonly publishedDocuments: PublishedDocuments
}
