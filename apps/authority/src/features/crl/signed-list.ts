import { MAX_DELTA_BYTES, changeBetween, isJsonObject, readJson, toUtf8, verifySignature } from '@chancery/protocol'
import type { CrlEntry, JsonValue, ListChange } from '@chancery/protocol'
import type { CrlVersion, NewEntry } from './queries.ts'

const [ENTRIES, AFTER_ENTRIES, SIGNATURES] = ['"revoked_certificates":[', '],"sequence":', ',"signatures":[']

/**
 * Returns the entries of a stored list as signed, joined. Undefined unless one of the keys signed exactly this text
 * with this sequence. The stored text is the signed one, so nothing is parsed: a list may be megabytes.
 */
export async function signedEntries(
  text: string,
  sequence: number,
  keys: readonly string[],
): Promise<string | undefined> {
  const end = text.lastIndexOf(SIGNATURES)
  const body = `${text.slice(0, Math.max(end, 0))}}`
  const [from, to] = [body.indexOf(ENTRIES), body.lastIndexOf(AFTER_ENTRIES)]
  if (end === -1 || from === -1 || to < from || body.slice(to) !== `${AFTER_ENTRIES}${sequence}}`) return undefined
  const sig = readSignature(text.slice(end + SIGNATURES.length, -2))
  if (sig === undefined) return undefined
  const message = toUtf8(body)
  for (const key of keys) if (await verifySignature(key, message, sig)) return body.slice(from + ENTRIES.length, to)
  return undefined
}

function readSignature(text: string): string | undefined {
  try {
    const value = readJson(text)
    const sig = isJsonObject(value) ? value['sig'] : undefined
    return typeof sig === 'string' ? sig : undefined
  } catch {
    return undefined
  }
}

/** Splits into one text per entry. No value of an entry contains a brace: ids, times, reasons and key ids have none. */
export function splitEntries(entries: string): readonly string[] {
  if (entries === '') return []
  const parts = entries.split('},{')
  return parts.map((part, at) => `${at === 0 ? '' : '{'}${part}${at === parts.length - 1 ? '' : '}'}`)
}

/** Undefined when the text is not an entry. */
export function readEntry(text: string): Pick<CrlEntry, 'certificate_id' | 'reason' | 'revoked_at'> | undefined {
  try {
    const value = readJson(text)
    if (!isJsonObject(value)) return undefined
    const { certificate_id, reason, revoked_at } = value
    const isWhole = [certificate_id, reason, revoked_at].every((each) => typeof each === 'string')
    return isWhole ? (value as unknown as CrlEntry) : undefined
  } catch {
    return undefined
  }
}

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

/**
 * What a version changed, as text for its row. Null when the version before is unknown, and for a change that no delta
 * could have: readers then load the full list.
 */
export function changeText(
  previous: CrlVersion | undefined,
  { before, after, appended }: { before: string | undefined; after: string; appended: readonly NewEntry[] | undefined },
): string | null {
  if (previous === undefined) return null
  const change = appended === undefined ? changeOf(before, after) : appendedChange(previous, appended)
  return change === undefined ? null : changeJson(change)
}

/** A change as text for its row. Null when no delta could have it. */
export function changeJson(change: ListChange): string | null {
  if (sizeOf(change) > MAX_DELTA_BYTES) return null
  const removed = change.removed.map(({ at, count }) => [at, count])
  const added = change.added.map(({ at, entries }) => [at, entries])
  const text = JSON.stringify({ removed, added })
  return text.length > MAX_DELTA_BYTES ? null : text
}

function sizeOf({ added }: ListChange): number {
  return added.reduce((sum, { entries }) => entries.reduce((more, { length }) => more + length, sum), 0)
}

function changeOf(before: string | undefined, after: string): ListChange | undefined {
  return before === undefined ? undefined : changeBetween(splitEntries(before), splitEntries(after))
}

function appendedChange({ entries: at }: CrlVersion, appended: readonly NewEntry[]): ListChange {
  if (appended.length === 0) return { removed: [], added: [] }
  return { removed: [], added: [{ at, entries: appended.map(({ entry_json }) => entry_json) }] }
}

/** The change of a row. Undefined when it has none, or one that was edited: its text is not signed. */
export function readChange(text: string | null): ListChange | undefined {
  if (text === null) return undefined
  try {
    const value = readJson(text, { maxDepth: 8, maxValues: text.length + 1, maxNames: 2 })
    if (!isJsonObject(value)) return undefined
    const [removed, added] = [pairsOf(value['removed']), pairsOf(value['added'])]
    return {
      removed: removed.map(([at, count]) => ({ at: Number(at), count: Number(count) })),
      added: added.map(([at, entries]) => ({ at: Number(at), entries: textsOf(entries) })),
    }
  } catch {
    return undefined
  }
}

function pairsOf(value: JsonValue | undefined): readonly (readonly JsonValue[])[] {
  if (!Array.isArray(value)) throw new TypeError('an array is needed')
  return value.map((pair) => {
    if (!Array.isArray(pair) || pair.length !== 2 || !Number.isSafeInteger(pair[0]))
      throw new TypeError('a pair is needed')
    return pair as readonly JsonValue[]
  })
}

function textsOf(value: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(value) || !value.every((text) => typeof text === 'string')) throw new TypeError('texts are needed')
  return value
}
