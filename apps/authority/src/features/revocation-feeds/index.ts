import { CACHE_CONTROL, Refusal, revocationFeeds } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { importFeed } from './import.ts'
import type { Feature } from '../../core.ts'
import { type FeedIndex, type ImportedFeed, toUtf8 } from '@chancery/protocol'
import type { Database, Reader, Transaction } from '../../database/database.ts'
import { current, index, refreshFeed, serveFeed, serveIndex } from './feed-index.ts'
import { type RevocationFeedsParts, removeOldImports } from './peers.ts'
import {
  addPartnerIds,
  completePartnerFeed,
  concludePartnerIndex,
  importPartnerFeed,
  importPartnerPart,
} from './import-partner.ts'
import type { IsCurrent, PartnerFeed, PartnerImport, PartnerPart } from './import-partner.ts'
import { type FeedCause, type Least, NEARLY_FULL, publishOwnFeed } from './publish.ts'
import { findFeedText, findLastImported, listNewestFeeds, listStoredParts } from './queries/imported.ts'
import type { FeedDatabase } from './queries/imported.ts'
import { type OwnFeed, findOwnFeedTotal, findPart, listPartDigests } from './queries/own.ts'
import { READ_LISTED, READ_NEWEST_FEEDS, listedKey } from './queries/issuer-states.ts'
import type { ListedRow, NewestFeedRow } from './queries/issuer-states.ts'
import { BatchedRead } from '../../database/batched-read.ts'
import { CachedDocument, type Call } from '@chancery/service-kit'

export { findFeedFault, findSignedFeed } from './continuity.ts'
export { ImportStoppedError } from './import-partner.ts'
export type { IsCurrent, PartnerFeed, PartnerImport, PartnerPart } from './import-partner.ts'
export { listPeerFeeds } from './peers.ts'
export type { PeerFeed } from './peers.ts'
export { isImportedRevocation, listNewestFeeds } from './queries/imported.ts'
export { findOwnFeed, findOwnFeedFacts, findOwnFeedTime } from './queries/own.ts'
export type { NewestFeed } from './queries/imported.ts'
export type { OwnFeedFacts } from './queries/own.ts'

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

/**
 * GET /sovereign-revocation-feed/parts/{part}
 * Returns the revoked attestations of one part of the current index. Its ETag is the digest in the index.
 */
async function part(call: Call, parts: RevocationFeedsParts): Promise<CachedDocument> {
  const asked = call.params['part'] ?? ''
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(asked)) throw new Refusal('feed_part_not_found')
  return servePart(parts, Number(asked))
}

/**
 * Caches the missing parts, as far as there is room, so that partners can read the feed while the database is
 * unavailable.
 */
async function cacheParts(parts: RevocationFeedsParts): Promise<void> {
  for (const { part: number, digest } of await listPartDigests(parts.database.read)) {
    if (parts.publishedDocuments.heldTag(nameOf(number)) === tagOf(digest)) continue
    await servePart(parts, number)
    // There is no room for this part, so there is none for later parts.
    if (parts.publishedDocuments.heldTag(nameOf(number)) === undefined) return
  }
}

function servePart(parts: RevocationFeedsParts, number: number): Promise<CachedDocument> {
  const source = { load: async () => ({ document: await loadPart(parts, number) }) }
  return parts.publishedDocuments.serve(parts, 'feed', source, { name: nameOf(number), isBounded: true })
}

async function loadPart(parts: RevocationFeedsParts, number: number): Promise<CachedDocument> {
  const found = await findPart(parts.database.read, number)
  if (found === undefined) throw new Refusal('feed_part_not_found')
  return new CachedDocument(toUtf8(found.part_json), CACHE_CONTROL.publishedDocuments, undefined, tagOf(found.digest))
}

function nameOf(number: number): string {
  return `feed-part-${number}`
}

function tagOf(digest: string): string {
  return `"${digest}"`
}

/** Whether the own feed has more than 80 % of the ids that it may have. */
export async function isOwnFeedNearFull(db: Reader): Promise<boolean> {
  return (await findOwnFeedTotal(db)) > NEARLY_FULL
}

export interface RevocationFeeds extends Feature {
  publishOwnFeed(tx: Transaction, cause: FeedCause, least?: Least): Promise<OwnFeed>
  /** Imported feeds of other sovereigns, for decisions. */
  readonly issuerStates: IssuerStates
  findImported(issuer: string, db?: Reader): Promise<{ readonly sequence: number } | undefined>
  /** The newest imported sequence of each issuer. */
  listImported(): Promise<ReadonlyMap<string, number>>
  listStoredParts(issuer: string, part_bits: number): Promise<ReadonlyMap<number, string>>
  /** Imports by standing order, of a feed whose signature was verified. Throws ImportStoppedError. */
  importFeed(feed: PartnerFeed, isCurrent: IsCurrent): Promise<PartnerImport>
  addIds(feed: PartnerFeed, isCurrent: IsCurrent): Promise<void>
  importPart(index: FeedIndex, part: PartnerPart, isCurrent: IsCurrent): Promise<'sequence_jump' | undefined>
  concludeIndex(index: FeedIndex, isCurrent: IsCurrent): Promise<PartnerImport>
  completeWithoutIndex(issuer: string, sequence: number, isCurrent: IsCurrent): Promise<void>
  removeOldImports(signal: AbortSignal): Promise<void>
  /** Each reads a published document, and caches it. */
  readonly serveFeed: () => Promise<unknown>
  readonly serveIndex: () => Promise<unknown>
  readonly cacheParts: () => Promise<void>
}

export function openRevocationFeeds(parts: RevocationFeedsParts): RevocationFeeds {
  const issuerStates = new IssuerStates(parts.database)
  return {
    routes: [
      bind(revocationFeeds.current, (call) => current(call, parts)),
      bind(revocationFeeds.index, (call) => index(call, parts)),
      bind(revocationFeeds.part, (call) => part(call, parts)),
      bind(revocationFeeds.import, (call) => importFeed(call, parts)),
    ],
    jobs: [{ name: 'feed-refresh', everySeconds: 60, run: (signal) => refreshFeed(parts, signal) }],
    removeOldImports: (signal) => removeOldImports(parts, signal),
    publishOwnFeed: (tx, cause, least) => publishOwnFeed(tx, parts, cause, least),
    issuerStates,
    findImported: (issuer, db = parts.database.read) => findLastImported(db, issuer),
    listImported: async () =>
      new Map((await listNewestFeeds(parts.database.read)).map((feed) => [feed.issuer_sovereign_id, feed.sequence])),
    listStoredParts: (issuer, part_bits) => listStoredParts(parts.database.read, issuer, part_bits),
    importFeed: (feed, isCurrent) => importPartnerFeed(parts, feed, isCurrent),
    addIds: (feed, isCurrent) => addPartnerIds(parts, feed, isCurrent),
    importPart: (feedIndex, feedPart, isCurrent) => importPartnerPart(parts, feedIndex, feedPart, isCurrent),
    concludeIndex: (feedIndex, isCurrent) => concludePartnerIndex(parts, feedIndex, isCurrent),
    completeWithoutIndex: (issuer, sequence, isCurrent) => completePartnerFeed(parts, issuer, sequence, isCurrent),
    serveFeed: () => serveFeed(parts),
    serveIndex: () => serveIndex(parts),
    cacheParts: () => cacheParts(parts),
    close: () => issuerStates.close(),
  }
}
