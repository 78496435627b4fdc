import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import type { RevocationFeedsParts } from './feed-parts.ts'
import { findPart, listPartDigests } from './queries/own.ts'

/**
 * GET /sovereign-revocation-feed/parts/{part}
 * Returns the revoked attestations of one part of the current index. Its ETag is the digest in the index.
 */
export async function part(call: Call, parts: RevocationFeedsParts): Promise<CachedDocument> {
  const asked = call.params['part'] ?? ''
  if (!/^(?:0|[1-9][0-9]{0,2})$/.test(asked)) throw new Refusal('feed_part_not_found')
  return servePart(parts, Number(asked))
}

/**
 * Caches the missing parts, as far as there is room, so that partners can read the feed while the database is
 * unavailable.
 */
export async function cacheParts(parts: RevocationFeedsParts): Promise<void> {
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
