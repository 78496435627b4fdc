import type { Core } from '../../core.ts'
import type { PublishedDocuments } from '../../requests/published-documents.ts'

export interface PolicyParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'database'
  | 'ids'
  | 'keys'
  | 'log'
  | 'network'
  | 'operators'
  | 'rollback'
  | 'signing'
  | 'versions'
> {
  readonly publishedDocuments: PublishedDocuments
}
