import { readEntry } from './signed-list.ts'

type Entry = NonNullable<ReturnType<typeof readEntry>>

/**
 * Entries that were listed and are not any more, except those with a later text: a raised reason, or another key as
 * issuer. The caller finds out whether their certificates have ended.
 */
export function listMissing(were: readonly string[], are: readonly string[]): readonly string[] {
  const present = new Set(are)
  const missing = were.filter((text) => !present.has(text))
  if (missing.length === 0) return []
  const known = new Set(were)
  const changed = new Map<string, Entry>()
  for (const text of are) {
    const entry = known.has(text) ? undefined : readEntry(text)
    if (entry !== undefined) changed.set(entry.certificate_id, entry)
  }
  return missing.filter((text) => !isCarriedOn(readEntry(text), changed))
}

/** The reason may have been raised, and another key may list the entry now. Nothing else of an entry changes. */
function isCarriedOn(was: Entry | undefined, changed: ReadonlyMap<string, Entry>): boolean {
  const is = was === undefined ? undefined : changed.get(was.certificate_id)
  if (was === undefined || is?.revoked_at !== was.revoked_at) return false
  return is.reason === was.reason || is.reason === 'key_compromise'
}
