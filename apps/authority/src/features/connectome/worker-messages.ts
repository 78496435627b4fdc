import type { ConnectomeSummary, Instant } from '@chancery/protocol'
import type { TreatyTable } from './treaty-table.ts'

/** What the main thread asks the graph thread … */
export type GraphRequest =
  | { readonly kind: 'build'; readonly now: Instant }
  | { readonly kind: 'trust-path'; readonly from: string; readonly to: string }
  | { readonly kind: 'lost-paths'; readonly treaty_id: string }
  | { readonly kind: 'accepted-by'; readonly sovereign: string }

/** … and what it gets. Bodies are handed over, not copied. */
export interface BuiltReply {
  readonly kind: 'built'
  readonly id: number
  readonly graph: Uint8Array
  readonly connectome: Uint8Array
  readonly atlas: Uint8Array
  readonly summary: ConnectomeSummary
  readonly treatyTable: TreatyTable
  readonly staleAt: Instant | undefined
}

export type GraphReply =
  | BuiltReply
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failed'; readonly id: number; readonly message: string; readonly isStore: boolean }
