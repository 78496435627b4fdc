import { MAX_DEPTH } from './canonical-json.ts'
import type { JsonObject } from './utf8.ts'

/** The text has to be written again and compared: its length alone does not prove its form. */
export const UNSURE = -1

const UNDERSCORE = 0x5f

/**
 * The length of C(v), found without writing it, for a value that the platform's reader took from a text without a
 * backslash and in plain ASCII; {@link UNSURE} where the length of that text would not prove that it is C(v).
 *
 * If the text has this length, it is C(v). Names are in order in the text, because the reader keeps the order of all
 * names that are no numbers. White space and repeated names make a text longer. So does another spelling of a number,
 * unless an exponent stands for two zeros or more: such values are unsure, however they were written.
 */
export function plainLength(value: unknown, depth: number): number {
  switch (typeof value) {
    case 'string':
      return value.length + 2
    case 'number':
      return numberLength(value)
    case 'boolean':
      return value ? 4 : 5
    default:
      break
  }
  if (value === null) return 4
  if (typeof value !== 'object' || depth >= MAX_DEPTH) return UNSURE
  return Array.isArray(value) ? arrayLength(value, depth) : objectLength(value as JsonObject, depth)
}

function objectLength(object: JsonObject, depth: number): number {
  // Braces, and for each member two quotation marks, a colon and a comma; the last one has no comma.
  let length = 1
  let last: string | undefined
  for (const name in object) {
    if ((last !== undefined && last >= name) || isSpecial(name)) return UNSURE
    last = name
    const inner = plainLength(object[name], depth + 1)
    if (inner === UNSURE) return UNSURE
    length += name.length + inner + 4
  }
  return last === undefined ? 2 : length
}

function arrayLength(items: readonly unknown[], depth: number): number {
  let length = 1
  for (let i = 0; i < items.length; i += 1) {
    const inner = plainLength(items[i], depth + 1)
    if (inner === UNSURE) return UNSURE
    length += inner + 1
  }
  return items.length === 0 ? 2 : length
}

/** Names of numbers come first in an object, wherever they were in the text; `__proto__` is left to its own check. */
function isSpecial(name: string): boolean {
  const first = name.charCodeAt(0)
  return first === UNDERSCORE || (first >= 0x30 && first <= 0x39)
}

function numberLength(value: number): number {
  if (!Number.isSafeInteger(value) || (value % 100 === 0 && value !== 0)) return UNSURE
  let length = value < 0 ? 2 : 1
  for (let rest = Math.abs(value); rest >= 10; rest = Math.floor(rest / 10)) length += 1
  return length
}
