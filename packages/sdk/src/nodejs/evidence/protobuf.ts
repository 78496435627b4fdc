import { EvidenceError } from '../../node/evidence.ts'

/** Fields of the messages of the Workload API: texts, bytes and messages. Others are skipped. */
export interface Field {
  readonly number: number
  readonly bytes: Uint8Array
}

const LENGTH_DELIMITED = 2

/** One length-delimited field. */
export function writeField(number: number, value: string | Uint8Array): Uint8Array {
  const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value
  return Uint8Array.from([(number << 3) | LENGTH_DELIMITED, ...varint(bytes.length), ...bytes])
}

function varint(value: number): readonly number[] {
  return value < 0x80 ? [value] : [(value & 0x7f) | 0x80, ...varint(Math.floor(value / 128))]
}

/** The length-delimited fields of a message, in order. */
export function readFields(message: Uint8Array): readonly Field[] {
  const found: Field[] = []
  let at = 0
  const next = (): number => {
    let value = 0
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = message[at]
      if (byte === undefined) throw malformed()
      at += 1
      value += (byte & 0x7f) * 2 ** shift
      if (byte < 0x80) return value
    }
    throw malformed()
  }
  while (at < message.length) {
    const tag = next()
    const [number, type] = [tag >>> 3, tag & 7]
    if (type === LENGTH_DELIMITED) {
      const length = next()
      if (at + length > message.length) throw malformed()
      found.push({ number, bytes: message.subarray(at, at + length) })
      at += length
    } else if (type === 0) next()
    else if (type === 1) at += 8
    else if (type === 5) at += 4
    else throw malformed()
  }
  if (at !== message.length) throw malformed()
  return found
}

export function fieldText(fields: readonly Field[], number: number): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(fieldBytes(fields, number))
}

/** The last one counts, as in every reader of this format. */
export function fieldBytes(fields: readonly Field[], number: number): Uint8Array {
  return fields.findLast((field) => field.number === number)?.bytes ?? new Uint8Array()
}

function malformed(): EvidenceError {
  return new EvidenceError('The Workload API sent a malformed message.')
}
