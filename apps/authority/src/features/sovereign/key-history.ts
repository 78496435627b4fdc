import { CACHE_CONTROL, Refusal } from '@chancery/contract'
import { toUtf8 } from '@chancery/protocol'
import { CachedDocument, type Call } from '@chancery/service-kit'
import type { SovereignParts } from './parts.ts'

/**
 * GET /key-history
 * Returns the former keys of this authority, as the root signed them. They are needed to verify old records.
 */
export function keyHistory(_call: Call, parts: SovereignParts): CachedDocument {
  const { historyText } = parts.keys
  if (historyText === undefined) throw new Refusal('key_history_not_found')
  return new CachedDocument(toUtf8(historyText), CACHE_CONTROL.genesis)
}
