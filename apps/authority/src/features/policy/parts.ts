import type { Core, FeatureBase } from '../../core.ts'
import type { PublishedDocuments } from '../../requests/published-documents.ts'

export interface PolicyParts extends FeatureBase, Pick<Core, 'operators' | 'reads' | 'rollback' | 'versions'> {
  readonly publishedDocuments: PublishedDocuments
}
