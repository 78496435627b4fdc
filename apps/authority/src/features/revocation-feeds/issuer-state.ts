import type { ImportedFeed } from '@chancery/protocol'
import { type FeedDatabase, findFeedText } from './queries/imported.ts'
import { READ_LISTED, READ_NEWEST_FEEDS, listedKey } from './queries/issuer-states.ts'
import type { ListedRow, NewestFeedRow } from './queries/issuer-states.ts'
import type { Database } from '../../database/database.ts'
import { BatchedRead } from '../../database/batched-read.ts'

/** What imported feeds state about an attestation of an issuer. */
export interface IssuerState {
  readonly isListed: boolean
  /** Highest imported sequence, 0 when none. */
  readonly sequence: number
  /** The newest feed that was imported completely. */
  readonly feed: ImportedFeed | undefined
  /** When that feed was imported, or last found to be the newest one. Null without a feed. */
  readonly seen_at: string | null
}

const MAX_CACHED = 2000

/** Reads imported feeds for decisions. Sequences and ids are read each time; only the date of a stored text is cached. */
export class IssuerStates {
  readonly #database: FeedDatabase
  readonly #dates = new Map<string, string | null>()
  readonly #feeds: BatchedRead<NewestFeedRow>
  readonly #listed: BatchedRead<ListedRow>

  constructor(database: FeedDatabase & Pick<Database, 'run'>) {
    this.#database = database
    this.#feeds = new BatchedRead(
      (issuers) => database.run(READ_NEWEST_FEEDS, issuers),
      (row) => row.issuer_sovereign_id,
    )
    this.#listed = new BatchedRead((keys) => database.run(READ_LISTED, keys), listedKey)
  }

  async read(issuer: string, attestation_id: string): Promise<IssuerState> {
    const newest = await this.#feeds.find(issuer)
    const feed = newest === undefined ? undefined : await this.#dateFeed(newest)
    // Read last: a feed that is imported now must not count as fresh without its ids.
    const listed = await this.#listed.find(listedKey({ issuer_sovereign_id: issuer, attestation_id }))
    const [imported, confirmed] = [newest?.imported_at ?? null, newest?.confirmed_at ?? null]
    return {
      sequence: Number(newest?.sequence ?? 0),
      feed,
      isListed: listed !== undefined,
      // Sortable texts. Only a feed that was imported can be confirmed.
      seen_at: imported !== null && confirmed !== null && confirmed > imported ? confirmed : imported,
    }
  }

  async close(): Promise<void> {
    await this.#feeds.close()
    await this.#listed.close()
  }

  async #dateFeed(row: NewestFeedRow): Promise<ImportedFeed | undefined> {
    if (row.complete === null) return undefined
    const [issuer, sequence] = [row.issuer_sovereign_id, Number(row.complete)]
    // The text of an old feed is no longer stored, and with it its date.
    if (row.digest !== null) return { sequence, issued_at: null }
    // A feed that was signed again has another date, and was confirmed later.
    const key = `${issuer}\n${sequence}\n${row.feed_id}\n${row.confirmed_at ?? ''}`
    const known = this.#dates.get(key)
    if (known !== undefined) return { sequence, issued_at: known }
    const issued_at = (await findFeedText(this.#database, issuer, sequence))?.issued_at ?? null
    if (this.#dates.size >= MAX_CACHED) this.#dates.clear()
    this.#dates.set(key, issued_at)
    return { sequence, issued_at }
  }
}
