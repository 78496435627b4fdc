import { CACHE_CONTROL, Refusal, sovereign } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import type { Feature } from '../../core.ts'
import { type SovereignParts, keySuccession, metadata } from './metadata.ts'
import { type GenesisBlock, toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'

const documents = new WeakMap<GenesisBlock, CachedDocument>()

/**
 * GET /genesis
 * Returns the block of the current key. The authority serves it and never signs it.
 */
function genesis(_call: Call, parts: SovereignParts): CachedDocument {
  const { genesis: block, genesisText } = parts.network
  let document = documents.get(block)
  if (document === undefined) {
    document = new CachedDocument(toUtf8(genesisText), CACHE_CONTROL.genesis)
    documents.set(block, document)
  }
  return document
}

/**
 * GET /key-history
 * Returns the former keys of this authority, as the root signed them. They are needed to verify old records.
 */
function keyHistory(_call: Call, parts: SovereignParts): CachedDocument {
  const { historyText } = parts.keys
  if (historyText === undefined) throw new Refusal('key_history_not_found')
  return new CachedDocument(toUtf8(historyText), CACHE_CONTROL.genesis)
}

export function openSovereign(parts: SovereignParts): Feature {
  return {
    routes: [
      bind(sovereign.genesis, (call) => genesis(call, parts)),
      bind(sovereign.metadata, (call) => metadata(call, parts)),
      bind(sovereign.keyHistory, (call) => keyHistory(call, parts)),
      bind(sovereign.keySuccession, (call) => keySuccession(call, parts)),
    ],
    jobs: [],
    close: () => Promise.resolve(),
  }
}
