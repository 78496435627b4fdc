import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import type { RevocationFeedsParts } from './feed-parts.ts'
import { feedSource } from './current.ts'
import type { OwnFeed } from './queries/own.ts'

/**
 * GET /sovereign-revocation-feed/index
 * Returns the signed index of the current feed: its parts, with the digest of each.
 */
export async function index(_call: Call, parts: RevocationFeedsParts): Promise<CachedDocument> {
  return serveIndex(parts)
}

export function serveIndex(parts: RevocationFeedsParts): Promise<CachedDocument> {
  return parts.publishedDocuments.serve(parts, 'feed', feedSource(parts, toIndexDocument), { name: 'feed-index' })
}

/** A version without parts, of an earlier release, which cannot be signed again now. */
function toIndexDocument({ index_json }: OwnFeed): CachedDocument {
  if (index_json === null) throw new Refusal('service_unavailable', { reason: 'feed_index_missing' })
  return new CachedDocument(toUtf8(index_json), CACHE_CONTROL.publishedDocuments)
}
