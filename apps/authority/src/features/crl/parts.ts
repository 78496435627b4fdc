import type { Core } from '../../core.ts'
import type { PublishedDocuments } from '../../requests/published-documents.ts'

export interface CrlParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'clockCheck'
  | 'database'
  | 'ids'
  | 'instance'
  | 'keys'
  | 'log'
  | 'network'
  | 'purgeClock'
  | 'recordFaults'
  | 'rollback'
  | 'signing'
  | 'versions'
> {
  readonly publishedDocuments: PublishedDocuments
}
