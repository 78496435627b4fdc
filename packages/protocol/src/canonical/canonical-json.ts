import { JsonFloat, MAX_INTEGER, MIN_INTEGER, fromUtf8, isAscii, toUtf8 } from './utf8.ts'
import type { JsonObject, JsonValue } from './utf8.ts'

/**
 * Deeper values cannot have come from the reader, which stops at 64; an operator's payload wraps a body once more. The
 * bound also stops circular objects.
 */
export const MAX_DEPTH = 66

/** C(v) of protocol/core 1.2: the ASCII text whose bytes are signed and hashed. */
export function canonicalJson(value: JsonValue): string {
  if (typeof value === 'string') return writeString(value)
  return writeOrdered(value) ?? write(value, 0, true)
}

/**
 * True for what the platform's own writer spells as C does: it leaves DEL and everything beyond ASCII as it is, and
 * writes half a surrogate pair as an escape, where C refuses it.
 */
export function isPlainlySpelled(text: string): boolean {
  return isAscii(text) && !text.includes('\u007f') && !text.includes(String.raw`\ud`)
}

/**
 * C(v) by the platform's own writer, several times quicker, or undefined where the two might differ: what came out of a
 * canonical text is in order already, and most of what is verified came out of one.
 */
function writeOrdered(value: JsonValue): string | undefined {
  if (!isOrdered(value, 0)) return undefined
  const text = JSON.stringify(value)
  return isPlainlySpelled(text) ? text : undefined
}

/**
 * True when all names stand in their order, every number is an exact integer, and nothing but plain objects and lists
 * is in it. Names compare by code units, which is right for all text that {@link isPlainlySpelled} lets pass.
 */
export function isOrdered(value: unknown, depth: number): boolean {
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return true
    case 'number':
      return Number.isSafeInteger(value)
    case 'object':
      if (value === null) return true
      break
    default:
      return false
  }
  if (depth >= MAX_DEPTH) return false
  if (Array.isArray(value)) return isOrderedArray(value, depth)
  const prototype: unknown = Object.getPrototypeOf(value)
  if (prototype !== null && prototype !== Object.prototype) return false
  let last: string | undefined
  // Nothing plain inherits an enumerable member; this is twice as quick as asking for the list of names.
  for (const name in value) {
    if (last !== undefined && last >= name) return false
    last = name
    if (!isOrdered((value as JsonObject)[name], depth + 1)) return false
  }
  return true
}

function isOrderedArray(items: readonly unknown[], depth: number): boolean {
  for (let i = 0; i < items.length; i += 1) if (!isOrdered(items[i], depth + 1)) return false
  return true
}

/** The same spelling of values with members in the order they were put in; for answers that are not signed. */
export function writeJson(value: JsonValue): string {
  return write(value, 0, false)
}

/** The bytes a signature covers. */
export function canonicalBytes(value: JsonValue): Uint8Array {
  return toUtf8(canonicalJson(value))
}

function write(value: JsonValue, depth: number, sorted: boolean): string {
  switch (typeof value) {
    case 'string':
      return writeString(value)
    case 'number':
      return writeNumber(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'bigint':
      // No reader accepts another number (protocol/core 1.1 rule 4).
      if (value < MIN_INTEGER || value > MAX_INTEGER) throw new TypeError('an integer out of range')
      return value.toString()
    case 'object':
      break
    default:
      // undefined, functions and symbols are refused: leaving them out would sign something else.
      throw new TypeError(`${typeof value} is not a JSON value`)
  }
  if (value === null) return 'null'
  if (value instanceof JsonFloat) return writeDouble(value.value)
  if (depth >= MAX_DEPTH) throw new TypeError('nested too deeply')
  if (Array.isArray(value)) return writeArray(value, depth, sorted)
  return writeObject(value as JsonObject, depth, sorted)
}

function writeArray(items: readonly JsonValue[], depth: number, sorted: boolean): string {
  let out = '['
  for (let i = 0; i < items.length; i += 1) {
    if (i > 0) out += ','
    out += write(items[i] as JsonValue, depth + 1, sorted)
  }
  return `${out}]`
}

function writeObject(object: JsonObject, depth: number, sorted: boolean): string {
  // Date, Map and the like would silently become {}: only plain objects are JSON.
  const prototype: unknown = Object.getPrototypeOf(object)
  if (prototype !== null && prototype !== Object.prototype) throw new TypeError('not a plain object')
  const names = Object.keys(object)
  if (sorted) sortNames(names)
  let out = '{'
  for (let i = 0; i < names.length; i += 1) {
    const name = names[i] as string
    if (i > 0) out += ','
    out += `${writeString(name)}:${write(object[name] as JsonValue, depth + 1, sorted)}`
  }
  return `${out}}`
}

/** Above this the platform's sort is faster, and insertion would cost the square of the size of untrusted objects. */
const FEW_NAMES = 16

/** Code point order, in place. Members of records are few and nearly in order: insertion takes a third of the time. */
function sortNames(names: string[]): void {
  if (names.length > FEW_NAMES || names.some(hasSurrogate)) {
    names.sort(compareCodePoints)
    return
  }
  for (let i = 1; i < names.length; i += 1) {
    const name = names[i] as string
    let at = i
    for (; at > 0 && (names[at - 1] as string) > name; at -= 1) names[at] = names[at - 1] as string
    names[at] = name
  }
}

function writeNumber(value: number): string {
  if (Number.isSafeInteger(value)) return Object.is(value, -0) ? '0' : String(value)
  // A fraction can only be a double; a large whole number could be either, so the caller must say which.
  if (!Number.isFinite(value) || Number.isInteger(value)) throw new TypeError('an ambiguous or non-finite number')
  return writeDouble(value)
}

/** Shortest digits that read back, laid out as protocol/core 1.3 says. */
function writeDouble(value: number): string {
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const [mantissa = '', exponentText = '0'] = Math.abs(value).toExponential().split('e')
  const digits = mantissa.replace('.', '')
  const exponent = Number(exponentText)
  const sign = value < 0 ? '-' : ''
  if (exponent < -4 || exponent >= 16) {
    const fraction = digits.length > 1 ? `.${digits.slice(1)}` : ''
    const size = String(Math.abs(exponent)).padStart(2, '0')
    return `${sign}${digits.charAt(0)}${fraction}e${exponent < 0 ? '-' : '+'}${size}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
}

// Everything printable except the quote and the backslash stands for itself.
const PLAIN = /^[ !#-[\]-~]*$/
/** Second character of the two-character escapes, by code unit. */
const SHORT: ReadonlyMap<number, number> = new Map(
  [...'""\\\\\bb\tt\nn\ff\rr'.matchAll(/(.)(.)/gs)].map(([, unit = '', letter = '']) => [
    unit.charCodeAt(0),
    letter.charCodeAt(0),
  ]),
)
const HEX: Uint8Array = toUtf8('0123456789abcdef')
const BACKSLASH = 0x5c

function writeString(text: string): string {
  if (PLAIN.test(text)) return `"${text}"`
  // A lone surrogate has no UTF-8 form: the reader refuses it, so the writer never makes it.
  if (!text.isWellFormed()) throw new TypeError('an unpaired surrogate')
  // Filled as bytes: a million escapes appended to a string would hold the event loop for a quarter of a second.
  const out = new Uint8Array(text.length * 6)
  let at = 0
  for (let i = 0; i < text.length; i += 1) {
    const unit = text.charCodeAt(i)
    const letter = SHORT.get(unit)
    if (letter !== undefined) {
      out[at] = BACKSLASH
      out[at + 1] = letter
      at += 2
    } else if (unit >= 0x20 && unit < 0x7f) {
      out[at] = unit
      at += 1
    } else {
      out[at] = BACKSLASH
      out[at + 1] = 0x75
      for (let digit = 0; digit < 4; digit += 1) out[at + 2 + digit] = HEX[(unit >> (12 - 4 * digit)) & 15] as number
      at += 6
    }
  }
  return `"${fromUtf8(out.subarray(0, at)) ?? ''}"`
}

/**
 * Code point order. JavaScript compares UTF-16 units, which puts U+1F600 (first unit 0xD83D) before U+E000.
 * The order of two units differs from that of their characters only when exactly one of them is a surrogate.
 */
export function compareCodePoints(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i += 1) {
    const left = a.charCodeAt(i)
    const right = b.charCodeAt(i)
    if (left !== right) return rank(left) - rank(right)
  }
  return a.length - b.length
}

const SURROGATE = /[\ud800-\udfff]/

/** Only then the platform's own order of texts differs from that of their code points. */
function hasSurrogate(text: string): boolean {
  return SURROGATE.test(text)
}

/** A sorted copy in code point order; the platform's own order, where it is the same, is much quicker. */
export function sortCodePoints(texts: readonly string[]): string[] {
  const copy = [...texts]
  return copy.some(hasSurrogate) ? copy.sort(compareCodePoints) : copy.sort()
}

function rank(unit: number): number {
  return unit >= 0xd800 && unit <= 0xdfff ? unit + 0x10000 : unit
}
