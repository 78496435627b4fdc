import { CACHE_CONTROL } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { CachedDocument } from '@chancery/service-kit'
import type { Call } from '@chancery/service-kit'
import type { SovereignParts } from './parts.ts'

const documents = new WeakMap<SovereignParts, CachedDocument>()

/**
 * GET /genesis
 * Returns the block as read at start. The authority serves it and never signs it.
 */
export function genesis(_call: Call, parts: SovereignParts): CachedDocument {
  let document = documents.get(parts)
  if (document === undefined) {
    document = new CachedDocument(toUtf8(parts.network.genesisText), CACHE_CONTROL.genesis)
    documents.set(parts, document)
  }
  return document
}
