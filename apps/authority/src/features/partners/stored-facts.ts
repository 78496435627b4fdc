import type { FormerKey } from '@chancery/protocol'

/** What the pulls of a partner found, stored as one JSON text: it is read and written as a whole. */
export interface StoredFacts {
  readonly genesis?: StoredGenesis
  readonly former_keys: readonly FormerKey[]
  /** Of the key history without signatures. Null when there is none. */
  readonly history_digest?: string | null
  readonly feed?: StoredFeed
  readonly crl?: StoredCrl
  readonly treaties?: StoredTreaties
  readonly key_changed_at?: string
  /** What the partner shows as its newest block. Absent when there never was a succession. */
  readonly succession?: StoredSuccession
  /** Pulls in a row that showed a lower sequence. */
  readonly rollbacks: { readonly feed: number; readonly crl: number }
  readonly metadata_mismatch: boolean
  readonly clock_offset: boolean
  /** The feed that the partner shows now was not read, because it has too many ids or bytes. */
  readonly feed_too_large?: boolean
}

export interface StoredGenesis {
  readonly digest: string
  readonly root_public_key: string
  readonly public_key: string
  readonly valid_from: string
  readonly valid_to: string
  readonly pinned: boolean
}

/** The key that follows the one in force, as the root of the partner signed it; null when there is none. */
export type AnnouncedKey = { readonly public_key: string; readonly valid_from: string } | null

export interface StoredSuccession {
  /** Null when the newest block is the one in force. */
  readonly announced: AnnouncedKey
  readonly etag?: string
}

export interface StoredFeed {
  readonly sequence: number
  readonly issued_at: string
  readonly ids: number
  readonly digest: string
  /** Null after an alarm was cleared: the next content counts. */
  readonly ids_digest: string | null
  readonly complete: boolean
  /** All these ids are imported. */
  readonly imported?: true
  readonly etag?: string
}

export interface StoredCrl {
  readonly sequence: number
  readonly issued_at: string
  readonly next_update: string
  readonly entries: number
  readonly digest: string
  readonly entries_digest: string | null
  readonly etag?: string
}

export interface StoredTreaties {
  readonly active: number
  readonly refused: number
  readonly truncated: boolean
  /** Left out because of the limit of all partners together. */
  readonly limited: boolean
}

export const NO_FACTS: StoredFacts = {
  former_keys: [],
  rollbacks: { feed: 0, crl: 0 },
  metadata_mismatch: false,
  clock_offset: false,
}

/** Written by this feature only. */
export function readFacts(text: string): StoredFacts {
  return JSON.parse(text) as StoredFacts
}

export function writeFacts(facts: StoredFacts): string {
  return JSON.stringify(facts)
}
