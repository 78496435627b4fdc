import { GatewayRefusal } from '@chancery/contract'
import { fromUtf8, joinBytes, toUtf8 } from '@chancery/protocol'

/** The fields of a message by number, each as often as it was sent: bytes, or a number. */
type Fields = ReadonlyMap<number, readonly (Uint8Array | bigint)[]>

const FIXED_BYTES: Readonly<Record<number, number>> = { 1: 8, 5: 4 }
const VARINT = 0
const BYTES = 2

/** A question has a header in each, and no proxy takes more headers. */
const MAX_FIELDS = 1000

/** Reads a message of protocol buffers in time linear to its bytes. Refuses everything that is cut or not well-formed. */
export function readFields(sent: Uint8Array): Fields {
  const fields = new Map<number, (Uint8Array | bigint)[]>()
  let [at, count] = [0, 0]
  const readVarint = (): bigint => {
    let value = 0n
    for (let shift = 0n; shift < 70n; shift += 7n) {
      const byte = sent[at]
      if (byte === undefined) return malformed()
      at += 1
      value |= BigInt(byte & 0x7f) << shift
      if (byte < 0x80) return value
    }
    return malformed()
  }
  const readBytes = (length: number): Uint8Array => {
    if (length > sent.length - at) return malformed()
    at += length
    return sent.subarray(at - length, at)
  }
  while (at < sent.length) {
    count += 1
    if (count > MAX_FIELDS) malformed()
    const key = Number(readVarint())
    const [number, kind] = [Math.floor(key / 8), key % 8]
    const fixed = FIXED_BYTES[kind]
    let value: Uint8Array | bigint
    if (kind === VARINT) value = readVarint()
    else if (kind === BYTES) value = readBytes(Number(readVarint()))
    else value = fixed === undefined ? malformed() : readBytes(fixed)
    const known = fields.get(number)
    if (known === undefined) fields.set(number, [value])
    else known.push(value)
  }
  return fields
}

/** Returns all values of a field of bytes, text or messages. */
export function allBytes(fields: Fields, number: number): readonly Uint8Array[] {
  return (fields.get(number) ?? []).map((value) => (typeof value === 'bigint' ? malformed() : value))
}

/** Returns the only value of a field. A repeated one has two readings. */
export function onlyBytes(fields: Fields, number: number): Uint8Array | undefined {
  const values = allBytes(fields, number)
  return values.length > 1 ? malformed() : values[0]
}

export function onlyText(fields: Fields, number: number): string {
  return fromUtf8(onlyBytes(fields, number) ?? new Uint8Array()) ?? malformed()
}

function malformed(): never {
  throw new GatewayRefusal('check_headers')
}

/** Writes a field: a number, a text or a message. */
export function field(number: number, value: number | string | Uint8Array): Uint8Array {
  if (typeof value === 'number') return joinBytes([varint(number * 8 + VARINT), varint(value)])
  const bytes = typeof value === 'string' ? toUtf8(value) : value
  return joinBytes([varint(number * 8 + BYTES), varint(bytes.length), bytes])
}

export function message(...fields: readonly Uint8Array[]): Uint8Array {
  return joinBytes([...fields])
}

function varint(value: number): Uint8Array {
  const bytes: number[] = []
  let rest = value
  for (; rest > 0x7f; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 0x80)
  return Uint8Array.from([...bytes, rest])
}
