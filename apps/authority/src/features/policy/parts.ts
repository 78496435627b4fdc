import type { Core } from '../../core.ts'
import type { PublishedDocuments } from '../../requests/published-documents.ts'

export interface PolicyParts extends Pick<
  Core,
  | 'audit'
  | 'clock'
  | 'genesis'
  | 'ids'
  | 'log'
  | 'operators'
  | 'ownKeys'
  | 'rollbackCheck'
  | 'signer'
  | 'signing'
  | 'database'
  | 'versions'
> {
  readonly publishedDocuments: PublishedDocuments
}
