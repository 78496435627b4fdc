import { fromUtf8, joinBytes, toUtf8 } from '../canonical/utf8.ts'

/** The part of CBOR (RFC 8949) that receipts use: whole numbers, bytes, texts, lists, maps with number keys, tags, null. */
export type Cbor = number | string | Uint8Array | null | CborList | CborMap | CborTag
export type CborList = readonly Cbor[]
export type CborMap = ReadonlyMap<number, Cbor>
export interface CborTag {
  readonly tag: number
  readonly value: Cbor
}

const MAX_DEPTH = 8

/** The deterministic form: shortest numbers, definite lengths, keys of maps in the order of their bytes. */
export function writeCbor(value: Cbor): Uint8Array {
  if (value === null) return Uint8Array.of(0xf6)
  if (typeof value === 'number') return value < 0 ? head(1, -1 - value) : head(0, value)
  if (typeof value === 'string') {
    const text = toUtf8(value)
    return joinBytes([head(3, text.length), text])
  }
  if (value instanceof Uint8Array) return joinBytes([head(2, value.length), value])
  if (value instanceof Map) {
    const entries = [...(value as CborMap)].map(([key, each]) => [writeCbor(key), writeCbor(each)] as const)
    const sorted = entries.toSorted(([a], [b]) => compareBytes(a, b))
    return joinBytes([head(5, sorted.length), ...sorted.flat()])
  }
  if (Array.isArray(value)) return joinBytes([head(4, value.length), ...(value as CborList).map(writeCbor)])
  const { tag, value: inner } = value as CborTag
  return joinBytes([head(6, tag), writeCbor(inner)])
}

/** Undefined for anything else than the deterministic form of one value. */
export function readCbor(bytes: Uint8Array): Cbor | undefined {
  const reader = new CborReader(bytes)
  try {
    const value = reader.read(0)
    const written = reader.isAtEnd ? writeCbor(value) : undefined
    // One value has one text, so a changed byte is always a change of a value.
    const isSame = written?.length === bytes.length && written.every((byte, at) => byte === bytes[at])
    return isSame ? value : undefined
  } catch (error) {
    if (error instanceof CborError) return undefined
    throw error
  }
}

class CborError extends Error {
  override readonly name = 'CborError'
}

class CborReader {
  readonly #bytes: Uint8Array
  #at = 0

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length
  }

  read(depth: number): Cbor {
    if (depth > MAX_DEPTH) throw new CborError('too deep')
    const [first = 0] = this.#take(1)
    if (first === 0xf6) return null
    const [kind, count] = [first >> 5, this.#count(first & 31)]
    if (kind === 0) return count
    if (kind === 1) return -1 - count
    if (kind === 2) return this.#take(count)
    if (kind === 3) return this.#text(count)
    if (kind === 4) return this.#list(count, depth)
    if (kind === 5) return this.#map(count, depth)
    if (kind === 6) return { tag: count, value: this.read(depth + 1) }
    throw new CborError('a kind that receipts do not use')
  }

  #text(count: number): string {
    const text = fromUtf8(this.#take(count))
    if (text === undefined) throw new CborError('not UTF-8')
    return text
  }

  #list(count: number, depth: number): CborList {
    const items: Cbor[] = []
    for (let at = 0; at < count; at += 1) items.push(this.read(depth + 1))
    return items
  }

  #map(count: number, depth: number): CborMap {
    const items = new Map<number, Cbor>()
    for (let at = 0; at < count; at += 1) {
      const key = this.read(depth + 1)
      if (typeof key !== 'number' || items.has(key)) throw new CborError('a key that is no number, or twice')
      items.set(key, this.read(depth + 1))
    }
    return items
  }

  #count(short: number): number {
    if (short < 24) return short
    if (short > 27) throw new CborError('an open length')
    const value = this.#take(2 ** (short - 24)).reduce((sum, byte) => sum * 256 + byte, 0)
    if (!Number.isSafeInteger(value)) throw new CborError('too large')
    return value
  }

  #take(count: number): Uint8Array {
    const end = this.#at + count
    if (end > this.#bytes.length) throw new CborError('cut off')
    const taken = this.#bytes.slice(this.#at, end)
    this.#at = end
    return taken
  }
}

function head(kind: number, count: number): Uint8Array {
  const first = kind * 32
  if (count < 24) return Uint8Array.of(first + count)
  const width = count < 2 ** 8 ? 1 : count < 2 ** 16 ? 2 : count < 2 ** 32 ? 4 : 8
  const bytes = Uint8Array.from({ length: width }, (_, at) => Math.floor(count / 256 ** (width - 1 - at)) % 256)
  return Uint8Array.of(first + 24 + Math.log2(width), ...bytes)
}

function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const at = a.findIndex((byte, index) => byte !== b[index])
  return at < 0 ? a.length - b.length : (a[at] ?? 0) - (b[at] ?? -1)
}
