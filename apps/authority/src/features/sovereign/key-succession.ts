import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import type { SovereignParts } from './parts.ts'
import type { NewestBlock } from '../../signing/newest-block.ts'

/**
 * GET /key-succession
 * Returns the newest block and history of the root. Followers verify both with their root key. Everything else in the
 * response is only a hint.
 */
export async function keySuccession(_call: Call, parts: SovereignParts): Promise<CachedDocument> {
  const newest = await parts.newestBlock.readOrLast()
  if (newest === undefined) throw new Refusal('key_history_not_found')
  const cached = documents.get(newest) ?? write(newest, parts)
  documents.set(newest, cached)
  return cached
}

/** Serialised, hashed and compressed once, because it is public and may have megabytes with its first list. */
const documents = new WeakMap<NewestBlock, CachedDocument>()

function write(newest: NewestBlock, { signing }: SovereignParts): CachedDocument {
  const { phase, genesisText, historyText, firstListText } = newest
  const text =
    `{"phase":"${phase}","current_public_key":"${signing.publicKey}","genesis":${genesisText},` +
    `"key_history":${historyText},"first_list":${firstListText ?? 'null'}}`
  return new CachedDocument(toUtf8(text), CACHE_CONTROL.publishedDocuments)
}
