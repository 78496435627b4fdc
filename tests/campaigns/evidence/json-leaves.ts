import type { JsonObject, JsonValue } from '@chancery/protocol'
import type { Random } from '../lib/random.ts'

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
