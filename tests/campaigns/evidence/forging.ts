import { canonicalJson, chainEntry, type JsonObject, type JsonValue, readEventLine } from '@chancery/protocol'
import type { Random } from '../lib/random.ts'

/** Returns the first anchored entry after `at`. The store of the campaign is anchored at these positions. */
export function nextAnchored(count: number): number {
  return [3, 9, 15].find((place) => place > count) ?? 15
}

/** Removes, adds or replaces one character anywhere in the line. */
export function editLine(line: string, random: Random): string {
  const place = random.below(line.length)
  switch (random.below(3)) {
    case 0:
      return line.slice(0, place) + line.slice(place + 1)
    case 1:
      return `${line.slice(0, place)}7${line.slice(place)}`
    default: {
      const other = String.fromCharCode(0x20 + ((line.charCodeAt(place) - 0x20 + 1 + random.below(94)) % 95))
      return line.slice(0, place) + other + line.slice(place + 1)
    }
  }
}

/**
 * Changes one record and computes every later digest and link again, like a database owner who has read the rules. The
 * signature of the record is still invalid.
 */
export function forgeFrom(lines: readonly string[], at: number): readonly string[] {
  const shown = lines.slice(0, at)
  const first = readEventLine(lines[at] ?? '')?.entry
  let head = {
    store_sequence: (first?.store_sequence ?? 1) - 1,
    entry_digest: first?.prev_entry_digest ?? null,
  }
  for (const [index, line] of lines.slice(at).entries()) {
    const event = readEventLine(line)
    if (event === undefined) throw new Error('a sound line is read')
    const { store_sequence: _s, recorded_at, payload_digest: _p, prev_entry_digest: _e, ...subject } = event.entry
    const payload = canonicalJson(event.payload)
    const changed =
      index === 0 ? payload.replace(/:(?:true|false)/, (word) => (word === ':true' ? ':false' : ':true')) : payload
    const isSame = index === 0 && changed === payload
    const text = isSame ? payload.replace('"success"', '"failure"') : changed
    const next = chainEntry(head, subject, text, recorded_at)
    head = { store_sequence: next.entry.store_sequence, entry_digest: next.entry_digest }
    shown.push(next.line)
  }
  return shown
}

/** Names and places from the outside in. */
export type Path = readonly (string | number)[]

/** Places of all texts, numbers and other single values. */
export function* leavesOf(value: JsonValue, path: Path): Generator<Path> {
  if (Array.isArray(value))
    for (const [at, each] of (value as readonly JsonValue[]).entries()) yield* leavesOf(each, [...path, at])
  else if (typeof value === 'object' && value !== null)
    for (const [name, each] of Object.entries(value as JsonObject)) yield* leavesOf(each, [...path, name])
  else yield path
}

export function replaceAt(value: JsonValue, path: Path, change: (leaf: JsonValue) => JsonValue): JsonValue {
  const [name, ...rest] = path
  if (name === undefined) return change(value)
  if (Array.isArray(value))
    return (value as readonly JsonValue[]).map((each, at) => (at === name ? replaceAt(each, rest, change) : each))
  const object = value as JsonObject
  return { ...object, [name]: replaceAt(object[name] ?? null, rest, change) }
}

/** Another value: one character of a text, a neighbouring number, the other truth value, or a text. */
export function alter(leaf: JsonValue, random: Random): JsonValue {
  if (typeof leaf === 'string') {
    const at = random.below(leaf.length)
    const changed = `${leaf.slice(0, at)}${String.fromCharCode(32 + random.below(95))}${leaf.slice(at + 1)}`
    return changed === leaf ? `${leaf}x` : changed
  }
  if (typeof leaf === 'number') return random.chance(50) ? leaf + 1 : leaf - 1
  return typeof leaf === 'boolean' ? !leaf : 'x'
}
