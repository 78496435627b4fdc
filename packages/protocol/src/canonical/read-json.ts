import { JsonFloat, type JsonValue, MAX_INTEGER, MIN_INTEGER, emptyObject, fromUtf8 } from './utf8.ts'

/** Why a text was not read. The text itself never appears in the message. */
export class JsonError extends Error {
  override readonly name = 'JsonError'
  readonly position: number

  constructor(problem: string, position: number) {
    super(`${problem} at position ${position}`)
    this.position = position
  }
}

export interface ReadLimits {
  readonly maxDepth: number
  /** Values of any kind in the whole text. */
  readonly maxValues: number
  /** Members of one object. */
  readonly maxNames: number
}

export const READ_LIMITS: ReadLimits = { maxDepth: 64, maxValues: 50_000, maxNames: 10_000 }

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const MINUS = 0x2d
const DOT = 0x2e
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Second character of the two-character escapes. */
const SIMPLE_ESCAPES: ReadonlySet<number> = new Set([...'"\\/bfnrt'].map((letter) => letter.charCodeAt(0)))

interface OpenArray {
  readonly kind: 'array'
  readonly items: JsonValue[]
}
interface OpenObject {
  readonly kind: 'object'
  readonly members: { [name: string]: JsonValue }
  names: number
  name: string
}
type Open = OpenArray | OpenObject

/** Bytes in, value out; ill-formed UTF-8 and a byte order mark are refused (protocol/core 1.1 rule 1). */
export function readJsonBytes(bytes: Uint8Array, limits: ReadLimits = READ_LIMITS): JsonValue {
  const text = fromUtf8(bytes)
  if (text === undefined) throw new JsonError('ill-formed UTF-8', 0)
  return readJson(text, limits)
}

/**
 * The one JSON reader (protocol/core 1.1). It refuses what two readers could understand differently: repeated names,
 * numbers that overflow, unpaired surrogates, trailing data. Iterative, so depth cannot exhaust the stack.
 */
export function readJson(text: string, limits: ReadLimits = READ_LIMITS): JsonValue {
  return new Reader(text, limits).read()
}

class Reader {
  readonly #text: string
  readonly #limits: ReadLimits
  #at = 0
  #values = 0

  constructor(text: string, limits: ReadLimits) {
    this.#text = text
    this.#limits = limits
  }

  read(): JsonValue {
    const open: Open[] = []
    for (;;) {
      let value = this.#value(open)
      if (value === undefined) continue
      // A value is complete: put it into its parent, and close every parent that ends here.
      for (;;) {
        const parent = open.at(-1)
        if (parent === undefined) {
          this.#skipSpace()
          if (this.#at !== this.#text.length) throw this.#error('data after the value')
          return value
        }
        if (parent.kind === 'array') parent.items.push(value)
        else parent.members[parent.name] = value
        this.#skipSpace()
        const code = this.#text.charCodeAt(this.#at)
        this.#at += 1
        if (code === COMMA) {
          if (parent.kind === 'object') this.#name(parent)
          break
        }
        if (code !== (parent.kind === 'array' ? CLOSE_ARRAY : CLOSE_OBJECT)) {
          this.#at -= 1
          throw this.#error('a comma or closing bracket is missing')
        }
        open.pop()
        value = parent.kind === 'array' ? parent.items : parent.members
      }
    }
  }

  /** A scalar or empty container, or undefined after opening a container whose first value follows. */
  #value(open: Open[]): JsonValue | undefined {
    this.#values += 1
    if (this.#values > this.#limits.maxValues) throw this.#error('too many values')
    this.#skipSpace()
    const code = this.#text.charCodeAt(this.#at)
    if (code === QUOTE) return this.#string()
    if (code === OPEN_OBJECT) {
      this.#enter(open)
      if (this.#text.charCodeAt(this.#at) === CLOSE_OBJECT) {
        this.#at += 1
        return emptyObject()
      }
      const object: OpenObject = { kind: 'object', members: emptyObject(), names: 0, name: '' }
      this.#name(object)
      open.push(object)
      return undefined
    }
    if (code === OPEN_ARRAY) {
      this.#enter(open)
      if (this.#text.charCodeAt(this.#at) === CLOSE_ARRAY) {
        this.#at += 1
        return []
      }
      open.push({ kind: 'array', items: [] })
      return undefined
    }
    if (code === MINUS || isDigit(code)) return this.#number()
    if (this.#word('true')) return true
    if (this.#word('false')) return false
    if (this.#word('null')) return null
    throw this.#error('no JSON value')
  }

  #enter(open: Open[]): void {
    if (open.length >= this.#limits.maxDepth) throw this.#error('nested too deeply')
    this.#at += 1
    this.#skipSpace()
  }

  #name(object: OpenObject): void {
    this.#skipSpace()
    if (this.#text.charCodeAt(this.#at) !== QUOTE) throw this.#error('a member name is missing')
    const name = this.#string()
    // Two members with one name mean different things to different readers (compared after unescaping).
    if (Object.hasOwn(object.members, name)) throw this.#error('a member name is repeated')
    object.names += 1
    if (object.names > this.#limits.maxNames) throw this.#error('too many members')
    object.name = name
    this.#skipSpace()
    if (this.#text.charCodeAt(this.#at) !== COLON) throw this.#error('a colon is missing')
    this.#at += 1
  }

  #string(): string {
    // The position is a local variable while scanning: most of the work on a large body happens in this loop.
    const text = this.#text
    const open = this.#at
    let at = open + 1
    let isEscaped = false
    for (;;) {
      const code = text.charCodeAt(at)
      if (code === QUOTE) break
      if (code === BACKSLASH) {
        this.#at = at
        at += this.#escapeLength()
        isEscaped = true
      } else if (code >= 0x20) {
        at += 1
      } else {
        this.#at = at
        throw this.#error(at < text.length ? 'a control character in a string' : 'a string does not end')
      }
      if (at >= text.length) {
        this.#at = at
        throw this.#error('a string does not end')
      }
    }
    this.#at = at + 1
    // Every escape has been looked at, so the platform reads this one token exactly as we would, and in a tenth of the
    // time: a million escapes appended one by one held the event loop for 100 ms.
    const whole = isEscaped ? (JSON.parse(text.slice(open, at + 1)) as string) : text.slice(open + 1, at)
    // Raw surrogates cannot occur in decoded UTF-8 bytes, but escapes and string input can make them.
    if (!whole.isWellFormed()) throw this.#error('an unpaired surrogate')
    return whole
  }

  /** Of the escape at the current position, which must be one JSON knows. */
  #escapeLength(): number {
    const code = this.#text.charCodeAt(this.#at + 1)
    if (SIMPLE_ESCAPES.has(code)) return 2
    if (code !== 0x75) throw this.#error('an unknown escape')
    for (let i = 2; i < 6; i += 1) {
      if (!isHexDigit(this.#text.charCodeAt(this.#at + i))) throw this.#error('an unknown escape')
    }
    return 6
  }

  #number(): JsonValue {
    const text = this.#text
    const start = this.#at
    if (text.charCodeAt(this.#at) === MINUS) this.#at += 1
    const first = text.charCodeAt(this.#at)
    this.#digits()
    if (first === 0x30 && this.#at - start > (text.charCodeAt(start) === MINUS ? 2 : 1))
      throw this.#error('a leading zero')
    let isInteger = true
    if (text.charCodeAt(this.#at) === DOT) {
      isInteger = false
      this.#at += 1
      this.#digits()
    }
    const exponent = text.charCodeAt(this.#at)
    if (exponent === 0x65 || exponent === 0x45) {
      isInteger = false
      this.#at += 1
      const sign = text.charCodeAt(this.#at)
      if (sign === 0x2b || sign === MINUS) this.#at += 1
      this.#digits()
    }
    return isInteger ? this.#integer(start) : this.#double(start)
  }

  #digits(): void {
    const start = this.#at
    while (isDigit(this.#text.charCodeAt(this.#at))) this.#at += 1
    if (this.#at === start) throw this.#error('a digit is missing')
  }

  #integer(start: number): JsonValue {
    const length = this.#at - start
    // Fifteen characters are exact in a double; `-0` becomes `0` (protocol/core 1.3).
    if (length <= 15) return Number(this.#text.slice(start, this.#at)) + 0
    // Checked before BigInt: converting a million digits would hold the event loop.
    if (length > 20) throw this.#error('an integer out of range')
    const exact = BigInt(this.#text.slice(start, this.#at))
    if (exact < MIN_INTEGER || exact > MAX_INTEGER) throw this.#error('an integer out of range')
    const plain = Number(exact)
    return Number.isSafeInteger(plain) ? plain : exact
  }

  #double(start: number): JsonValue {
    const value = Number(this.#text.slice(start, this.#at))
    if (!Number.isFinite(value)) throw this.#error('a number overflows')
    return new JsonFloat(value)
  }

  #word(word: string): boolean {
    if (!this.#text.startsWith(word, this.#at)) return false
    this.#at += word.length
    return true
  }

  #skipSpace(): void {
    const text = this.#text
    let at = this.#at
    for (;;) {
      const code = text.charCodeAt(at)
      if (code !== 0x20 && code !== 0x0a && code !== 0x0d && code !== 0x09) break
      at += 1
    }
    this.#at = at
  }

  #error(problem: string): JsonError {
    return new JsonError(problem, this.#at)
  }
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39
}

function isHexDigit(code: number): boolean {
  const lower = code | 0x20
  return isDigit(code) || (lower >= 0x61 && lower <= 0x66)
}
