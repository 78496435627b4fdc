import { LIMITS, Refusal } from '@chancery/contract'
import { type JsonValue, canonicalJson } from '@chancery/protocol'

/** The canonical form counts, because it is what is stored and hashed. It is ASCII: one byte per character. */
export function refuseLargeContext(context: JsonValue, place = 'context'): void {
  const bytes = canonicalJson(context).length
  const max_bytes = LIMITS.contextBytes
  if (bytes > max_bytes) throw new Refusal('context_too_large', { field: place, bytes, max_bytes })
}
