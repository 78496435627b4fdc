import type { ListEntries } from './entries-cache.ts'
import type { NewEntry } from './queries.ts'

/** What the rows of the entries changed since the last version. */
export interface ListChanges {
  readonly appended: readonly NewEntry[]
  /** Positions of entries that were appended or removed, or that got another text. */
  readonly positions: readonly number[]
  readonly pruned: number
  /** Entries that were listed before got another text. */
  readonly isRewritten: boolean
  /** Entries with any position may have changed. */
  readonly isAnywhere: boolean
  /** A recovery restored the entries of any list, so the latest list in the database may be incomplete. */
  readonly isRecovered: boolean
}

/** A signed list, and how it is stored. */
export interface BuiltList {
  readonly count: number
  /** Size of its text. */
  readonly bytes: number
  readonly row: {
    readonly crl_json: string
    readonly change_json: string | null
    readonly frame_json: string | null
    readonly segments_json: string | null
    readonly digest: string | null
  }
  /** For the cache, with the signed head of the list. */
  readonly stored: (head_json: string) => ListEntries
}
