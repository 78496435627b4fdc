import { readJson } from '../canonical/read-json.ts'
import { type JsonValue, fromUtf8 } from '../canonical/utf8.ts'

/** Bytes that are written one piece after another. */
export class GrowingBytes {
  #bytes: Uint8Array<ArrayBuffer>
  #length = 0

  constructor(room: number) {
    this.#bytes = new Uint8Array(Math.max(64, room))
  }

  get length(): number {
    return this.#length
  }

  add(piece: Uint8Array): void {
    const end = this.#length + piece.length
    if (end > this.#bytes.length) this.#grow(end)
    this.#bytes.set(piece, this.#length)
    this.#length = end
  }

  /** Leaves so many bytes free, to be filled later. */
  skip(length: number): void {
    const end = this.#length + length
    if (end > this.#bytes.length) this.#grow(end)
    this.#length = end
  }

  /** What was written; further pieces would change it. */
  view(): Uint8Array<ArrayBuffer> {
    return this.#bytes.subarray(0, this.#length)
  }

  #grow(least: number): void {
    const next = new Uint8Array(Math.max(least, Math.ceil(this.#bytes.length * 1.5)))
    next.set(this.view())
    this.#bytes = next
  }
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const DEL = 0x7f
/** No writer puts more between two tokens; a document that is padded with space only costs its reader. */
const MAX_SPACE = 65_536

/** A string token of the scanned bytes, with its quotes. */
export interface Token {
  readonly start: number
  readonly end: number
  /** Every byte between the quotes stands for itself, and canonical form spells it the same way. */
  readonly isPlain: boolean
}

/** The bytes are not of the form that was scanned for. */
export class ScanError extends Error {
  override readonly name = 'ScanError'
}

/**
 * Walks over JSON bytes of a form that is known beforehand, and makes no value of what it passes: a document of another
 * form costs nothing but the walk to its first wrong byte. What it accepts the one JSON reader accepts too.
 */
export class ByteScanner {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  /** The next byte that is no space, without passing it. */
  peek(): number {
    this.#skipSpace()
    return this.#bytes[this.#at] ?? -1
  }

  /** Passes one byte, which must be this one. */
  take(byte: number): void {
    if (this.peek() !== byte) throw new ScanError(`an unexpected byte at ${this.#at}`)
    this.#at += 1
  }

  /** Passes everything up to the end, which must follow. */
  end(): void {
    if (this.peek() !== -1) throw new ScanError('data after the value')
  }

  /** Each item of an array or object between its brackets; `item` passes one. */
  each(open: number, close: number, item: () => void): void {
    this.take(open)
    if (this.peek() === close) {
      this.#at += 1
      return
    }
    for (;;) {
      item()
      const next = this.peek()
      this.#at += 1
      if (next === close) return
      if (next !== COMMA) throw new ScanError(`a comma or closing bracket is missing at ${this.#at - 1}`)
    }
  }

  /** A member name and its colon. */
  name(): Token {
    const name = this.string()
    this.take(COLON)
    return name
  }

  string(): Token {
    this.take(QUOTE)
    const bytes = this.#bytes
    const start = this.#at - 1
    let at = this.#at
    let isPlain = true
    for (;;) {
      const byte = bytes[at] ?? -1
      if (byte === QUOTE) break
      if (byte < 0x20) throw new ScanError(`a string does not end, or holds a control character, at ${at}`)
      if (byte >= DEL) isPlain = false
      if (byte === BACKSLASH) {
        isPlain = false
        at += 1
      }
      at += 1
    }
    this.#at = at + 1
    return { start, end: this.#at, isPlain }
  }

  /** A token of digits and what else a number is made of, as the reader reads it. */
  number(): JsonValue {
    this.#skipSpace()
    const start = this.#at
    while (isNumberByte(this.#bytes[this.#at] ?? -1)) this.#at += 1
    // No exact number is longer; the reader would refuse it anyway, after looking at every digit.
    if (this.#at - start > 64) throw new ScanError('a number is too long')
    return this.#read({ start, end: this.#at })
  }

  /** The text of a string token: its escapes known ones, its characters whole. */
  text(token: Token): string {
    return this.#read(token) as string
  }

  /** Between the quotes; what a plain token says. */
  inner({ start, end }: Token): Uint8Array {
    return this.#bytes.subarray(start + 1, end - 1)
  }

  #read({ start, end }: { readonly start: number; readonly end: number }): JsonValue {
    const text = fromUtf8(this.#bytes.subarray(start, end))
    if (text === undefined) throw new ScanError(`ill-formed UTF-8 at ${start}`)
    return readJson(text)
  }

  #skipSpace(): void {
    const bytes = this.#bytes
    let at = this.#at
    for (;;) {
      const byte = bytes[at]
      if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) break
      at += 1
    }
    if (at - this.#at > MAX_SPACE) throw new ScanError(`more than ${MAX_SPACE} bytes of space at ${this.#at}`)
    this.#at = at
  }
}

function isNumberByte(byte: number): boolean {
  return (byte >= 0x30 && byte <= 0x39) || byte === 0x2d || byte === 0x2b || byte === 0x2e || (byte | 0x20) === 0x65
}
