import { MAX_DELTA_BYTES, changeBetween, isJsonObject, readJson } from '@chancery/protocol'
import type { JsonValue, ListChange } from '@chancery/protocol'
import type { CrlVersion, NewEntry } from './queries.ts'
import { splitEntries } from './signed-list.ts'

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
