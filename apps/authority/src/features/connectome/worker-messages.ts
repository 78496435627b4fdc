import type { ConnectomeSummary, Instant } from '@chancery/protocol'
import type { DocumentName } from './documents.ts'
import type { TreatyTable } from './treaty-table.ts'
import type { AskedTrust } from './views.ts'

/** What the main thread asks the graph thread … */
export type GraphRequest =
  | { readonly kind: 'build'; readonly now: Instant }
  | { readonly kind: 'document'; readonly name: DocumentName }
  | { readonly kind: 'digest' }
  | { readonly kind: 'trust-path'; readonly from: string; readonly to: string }
  | ({ readonly kind: 'trust-finding' } & AskedTrust)
  | { readonly kind: 'lost-paths'; readonly treaty_id: string }
  | { readonly kind: 'outline'; readonly words: string }
  | { readonly kind: 'accepted-by'; readonly sovereign: string }

/** … and what it gets. All searches are answered from the newest graph, which is never older than the one asked of. */
export interface BuiltReply {
  readonly kind: 'built'
  readonly id: number
  readonly summary: ConnectomeSummary
  readonly treatyTable: TreatyTable
  readonly staleAt: Instant | undefined
}

/** A body is handed over, not copied, with its ETag: hashing it would hold up the event loop. */
export interface WrittenDocument {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly etag: string
}

export type GraphReply =
  | BuiltReply
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string; readonly isStore: boolean }
