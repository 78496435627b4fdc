import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { seconds, toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import type { RevocationFeedsParts } from './feed-parts.ts'
import type { DocumentSource } from '../../requests/published-documents.ts'
import { refreshFeedIfDue, refreshAt } from './refresh.job.ts'
import { type OwnFeed, findOwnFeed } from './queries/own.ts'

/** After a failure to sign a feed, requests wait this long before the next attempt. */
const TRY_AGAIN = seconds(10)

/**
 * GET /sovereign-revocation-feed
 * Returns the revoked attestations of this sovereign, as one signed list for other sovereigns to import.
 */
export async function current(call: Call, parts: RevocationFeedsParts): Promise<CachedDocument> {
  const asked = call.query.first('issuer_sovereign_id')
  if (asked !== undefined && asked !== parts.network.name) throw new Refusal('feed_issuer_mismatch')
  return serveFeed(parts)
}

export function serveFeed(parts: RevocationFeedsParts): Promise<CachedDocument> {
  return parts.publishedDocuments.serve(parts, 'feed', feedSource(parts, toPlainDocument))
}

function toPlainDocument({ feed_json, total_ids }: OwnFeed): CachedDocument {
  const headers = total_ids === null ? {} : { 'Chancery-Feed-Total': String(total_ids) }
  return new CachedDocument(toUtf8(feed_json), CACHE_CONTROL.publishedDocuments, undefined, undefined, headers)
}

/** Returns a document of the current version. The first request for an old version has it signed again. */
export function feedSource(parts: RevocationFeedsParts, toDocument: (feed: OwnFeed) => CachedDocument): DocumentSource {
  return {
    load: async () => {
      const feed = await loadCurrent(parts)
      const [due, now] = [refreshAt(parts, feed), parts.clock.now()]
      const at = due > now ? due : now + TRY_AGAIN
      return { document: toDocument(feed), times: { refreshAt: at, gatherAt: at } }
    },
    isDue: ({ times }, _versions, now) => times !== undefined && now >= times.refreshAt && parts.signing.isAllowed(),
  }
}

/** A feed that cannot be signed again is still served, because its ids stay revoked. */
async function loadCurrent(parts: RevocationFeedsParts): Promise<OwnFeed> {
  try {
    return await refreshFeedIfDue(parts)
  } catch (error) {
    const stored = await findOwnFeed(parts.database.read)
    if (stored === undefined) throw error
    parts.metrics.feedPublishFailures.increase()
    parts.log.error('cannot sign the revocation feed again', { alarm: true, error })
    return stored
  }
}
