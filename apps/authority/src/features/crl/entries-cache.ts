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
  #kept: ListEntries | undefined

  /**
   * The entries of exactly this version, when this process published it. A failover may have lost that one and given
   * its number to another, so time and count must agree, too.
   */
  find(version: CrlVersion | undefined): ListEntries | undefined {
    const kept = this.#kept
    const isSame =
      kept?.sequence === version?.sequence && kept?.issuedAt === version?.issuedAt && kept?.count === version?.entries
    return isSame ? kept : undefined
  }

  /** Called after COMMIT only: a version that was rolled back never existed. */
  set(kept: ListEntries): void {
    this.#kept = kept
  }
}
