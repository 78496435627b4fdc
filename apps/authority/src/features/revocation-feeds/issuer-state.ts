import type { ImportedFeed } from '@chancery/protocol'
import { findFeedText, isImportedRevocation } from './queries/imported.ts'
import type { FeedDatabase } from './queries/imported.ts'

/** What imported feeds state about an attestation of an issuer. */
export interface IssuerState {
  readonly isListed: boolean
  /** Highest imported sequence, 0 when none. */
  readonly sequence: number
  /** The newest feed that was imported completely. */
  readonly feed: ImportedFeed | undefined
}

const MAX_CACHED = 2000

/** Reads imported feeds for decisions. Sequences and ids are read each time; only the date of a stored text is cached. */
export class IssuerStates {
  readonly #database: FeedDatabase
  readonly #dates = new Map<string, string | null>()

  constructor(database: FeedDatabase) {
    this.#database = database
  }

  async read(issuer: string, attestation_id: string): Promise<IssuerState> {
    const db = this.#database.read
    const rows = await db
      .selectFrom('sovereign_revocation_feeds')
      .select((eb) => [
        eb.fn.max('sequence').as('sequence'),
        eb.fn.max(eb.case().when('complete', '=', 1).then(eb.ref('sequence')).end()).as('complete'),
      ])
      .where('issuer_sovereign_id', '=', issuer)
      .executeTakeFirst()
    // Read last: a feed that is imported now must not count as fresh without its ids.
    const complete = rows?.complete ?? null
    const feed = complete === null ? undefined : await this.#readFeed(issuer, Number(complete))
    return {
      sequence: Number(rows?.sequence ?? 0),
      feed,
      isListed: await isImportedRevocation(db, issuer, attestation_id),
    }
  }

  async #readFeed(issuer: string, sequence: number): Promise<ImportedFeed> {
    const row = await this.#database.read
      .selectFrom('sovereign_revocation_feeds as f')
      .leftJoin('imported_issuers as i', 'i.issuer_sovereign_id', 'f.issuer_sovereign_id')
      .select(['f.feed_id', 'f.digest', 'i.confirmed_at'])
      .where('f.issuer_sovereign_id', '=', issuer)
      .where('f.sequence', '=', sequence)
      .executeTakeFirst()
    // The text of an old feed is no longer stored, and with it its date.
    if (row === undefined || row.digest !== null) return { sequence, issued_at: null }
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
