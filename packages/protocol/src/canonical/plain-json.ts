import { isPlainlySpelled, writeJson } from './canonical-json.ts'
import type { JsonObject, JsonValue } from './utf8.ts'

/** Deeper values are left to writeJson(), which refuses circular objects. */
const MAX_DEPTH = 32

/** The text that writeJson() gives, by the platform's own writer where the two cannot differ: several times faster. */
export function writePlainJson(value: JsonValue): string {
  if (!isPlain(value, 0)) return writeJson(value)
  const text = JSON.stringify(value)
  return isPlainlySpelled(text) ? text : writeJson(value)
}

/** True when every number is an exact integer and nothing but plain objects and lists is in it. */
function isPlain(value: unknown, depth: number): boolean {
  if (typeof value === 'number') return Number.isSafeInteger(value)
  if (typeof value !== 'object') return typeof value === 'string' || typeof value === 'boolean'
  if (value === null) return true
  if (depth >= MAX_DEPTH) return false
  if (Array.isArray(value)) {
    for (let at = 0; at < value.length; at += 1) if (!isPlain(value[at], depth + 1)) return false
    return true
  }
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) return false
  // Nothing plain inherits an enumerable member.
  for (const name in value) if (!isPlain((value as JsonObject)[name], depth + 1)) return false
  return true
}
