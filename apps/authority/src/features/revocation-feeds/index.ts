import type { Feature } from '../../core.ts'
import type { Transaction } from '../../database/database.ts'
import { serveFeed } from './current.ts'
import { serveIndex } from './feed-index.ts'
import type { RevocationFeedsParts } from './feed-parts.ts'
import { IssuerStates } from './issuer-state.ts'
import { cacheParts } from './part.ts'
import { publishOwnFeed } from './publish.ts'
import type { FeedCause, Least } from './publish.ts'
import type { OwnFeed } from './queries.ts'
import { refreshFeed } from './refresh.job.ts'
import { revocationFeedRoutes } from './routes.ts'

export { findFeedFault, findSignedFeed } from './continuity.ts'
export { listPeerFeeds } from './peers.ts'
export type { PeerFeed } from './peers.ts'
export { findOwnFeed, findOwnFeedFacts, findOwnFeedTime, isImportedRevocation, listNewestFeeds } from './queries.ts'
export type { NewestFeed, OwnFeedFacts } from './queries.ts'

export interface RevocationFeeds extends Feature {
  publishOwnFeed(tx: Transaction, cause: FeedCause, least?: Least): Promise<OwnFeed>
  /** Imported feeds of other sovereigns, for decisions. */
  readonly issuerStates: IssuerStates
  /** Each reads a published document, and caches it. */
  readonly serveFeed: () => Promise<unknown>
  readonly serveIndex: () => Promise<unknown>
  readonly cacheParts: () => Promise<void>
}

export function openRevocationFeeds(parts: RevocationFeedsParts): RevocationFeeds {
  return {
    routes: revocationFeedRoutes(parts),
    jobs: [{ name: 'feed-refresh', everySeconds: 60, run: () => refreshFeed(parts) }],
    publishOwnFeed: (tx, cause, least) => publishOwnFeed(tx, parts, cause, least),
    issuerStates: new IssuerStates(parts.database),
    serveFeed: () => serveFeed(parts),
    serveIndex: () => serveIndex(parts),
    cacheParts: () => cacheParts(parts),
    close: () => Promise.resolve(),
  }
}
