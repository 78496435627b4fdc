import type { Core } from '../../core.ts'
import type { PublishedDocuments } from '../../requests/published-documents.ts'

export interface CrlParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'clockCheck'
  | 'genesis'
  | 'ids'
  | 'instance'
  | 'log'
  | 'ownKeys'
  | 'purgeClock'
  | 'recordFaults'
  | 'rollbackCheck'
  | 'signer'
  | 'signing'
  | 'database'
  | 'versions'
> {
  readonly publishedDocuments: PublishedDocuments
}
