import type { Instant } from '@chancery/protocol'
import type { CrlVersion } from './queries.ts'

/** The entries of one version, spelled and joined. */
export interface ListEntries {
  readonly sequence: number
  readonly issuedAt: Instant
  readonly text: string
  readonly count: number
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

  /** Called after COMMIT only: a version that was rolled back never existed. */
  set(cached: ListEntries): void {
    this.#cached = cached
  }
}
