import type { Instant } from '@chancery/protocol'
import type { Manifest } from '../../database/list-segments.ts'
import type { CrlVersion } from './queries.ts'

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
