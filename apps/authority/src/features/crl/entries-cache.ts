import type { Instant } from '@chancery/protocol'
import type { Manifest } from '../../database/list-segments.ts'
import type { CrlVersion, NewEntry } from './queries.ts'
import type { ListBuilder } from './list-builder.ts'
import type { CrlParts } from './lists.ts'

/** The entries of one version. */
export type ListEntries = PlainEntries | LargeEntries

interface EntriesOf {
  readonly sequence: number
  readonly issuedAt: Instant
  readonly count: number
}

/** Spelled and joined. */
export interface PlainEntries extends EntriesOf {
  readonly text: string
}

/** A large list is in the thread that built it. Its bytes are here, because they are served. */
export interface LargeEntries extends EntriesOf {
  /** The number of its state in the thread. */
  readonly state: number
  readonly manifest: Manifest
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly digest: string
  readonly head_json: string
}

export function isLarge(entries: ListEntries | undefined): entries is LargeEntries {
  return entries !== undefined && 'state' in entries
}

/** The entries of the version that this process published last. */
export class EntriesCache {
  #cached: ListEntries | undefined

  /**
   * The entries of exactly this version, when this process published it. A failover may have lost that one and given
   * its number to another, so time and count must agree, too.
   */
  find(version: CrlVersion | undefined): ListEntries | undefined {
    const cached = this.#cached
    const isSame =
      cached?.sequence === version?.sequence &&
      cached?.issuedAt === version?.issuedAt &&
      cached?.count === version?.entries
    return isSame ? cached : undefined
  }

  /** The entries of the version that this process published last, which may not be the current one. */
  get last(): ListEntries | undefined {
    return this.#cached
  }

  /** Called after COMMIT only: a version that was rolled back never existed. */
  set(cached: ListEntries): void {
    this.#cached = cached
  }
}

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

/** The parts of the feature and its own state. */
export interface CrlState extends CrlParts {
  /** So that the next version only appends to the last one. */
  readonly entries: EntriesCache
  /** Builds large lists in a thread. */
  readonly builder: ListBuilder
}

/** Called after COMMIT only. States of lists before this one are removed from the thread. */
export function setCurrent(
  { entries, builder, log }: Pick<CrlState, 'entries' | 'builder' | 'log'>,
  stored: ListEntries,
): void {
  entries.set(stored)
  if (!isLarge(stored)) return
  builder.keep(stored.state).catch((error: unknown) => log.warn('the thread of the revocation list ended', { error }))
}
