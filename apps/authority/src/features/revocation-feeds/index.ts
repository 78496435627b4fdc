import { revocationFeeds } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { importFeed } from './import.ts'
import type { Feature } from '../../core.ts'
import type { FeedIndex } from '@chancery/protocol'
import type { Reader, Transaction } from '../../database/database.ts'
import { current, serveFeed } from './current.ts'
import { index, serveIndex } from './feed-index.ts'
import type { RevocationFeedsParts } from './feed-parts.ts'
import { IssuerStates } from './issuer-state.ts'
import { cacheParts, part } from './part.ts'
import {
  addPartnerIds,
  completePartnerFeed,
  concludePartnerIndex,
  importPartnerFeed,
  importPartnerPart,
} from './import-partner.ts'
import type { IsCurrent, PartnerFeed, PartnerImport, PartnerPart } from './import-partner.ts'
import { type FeedCause, type Least, NEARLY_FULL, publishOwnFeed } from './publish.ts'
import { findLastImported, listNewestFeeds, listStoredParts } from './queries/imported.ts'
import { type OwnFeed, findOwnFeedTotal } from './queries/own.ts'
import { refreshFeed } from './refresh.job.ts'
import { removeOldImports } from './remove-imports.job.ts'

export { findFeedFault, findSignedFeed } from './continuity.ts'
export { ImportStoppedError } from './import-partner.ts'
export type { IsCurrent, PartnerFeed, PartnerImport, PartnerPart } from './import-partner.ts'
export { listPeerFeeds } from './peers.ts'
export type { PeerFeed } from './peers.ts'
export { isImportedRevocation, listNewestFeeds } from './queries/imported.ts'
export { findOwnFeed, findOwnFeedFacts, findOwnFeedTime } from './queries/own.ts'
export type { NewestFeed } from './queries/imported.ts'
export type { OwnFeedFacts } from './queries/own.ts'

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
