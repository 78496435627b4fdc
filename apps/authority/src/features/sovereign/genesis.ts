import { CACHE_CONTROL } from '@chancery/contract'
import { type GenesisBlock, toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import type { SovereignParts } from './parts.ts'

const documents = new WeakMap<GenesisBlock, CachedDocument>()

/**
 * GET /genesis
 * Returns the block of the current key. The authority serves it and never signs it.
 */
export function genesis(_call: Call, parts: SovereignParts): CachedDocument {
  const { genesis: block, genesisText } = parts.network
  let document = documents.get(block)
  if (document === undefined) {
    document = new CachedDocument(toUtf8(genesisText), CACHE_CONTROL.genesis)
    documents.set(block, document)
  }
  return document
}
