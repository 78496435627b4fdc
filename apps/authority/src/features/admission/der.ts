/** One element of a DER text: its tag, and its content. */
export interface Element {
  readonly tag: number
  readonly content: Uint8Array
}

/** The text is not DER, or has a form that certificates do not need. */
export class DerError extends Error {
  override readonly name = 'DerError'
}

export const TAGS = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  sequence: 0x30,
  /** In the parameters of RSASSA-PSS: the hash, and the mask. */
  explicit0: 0xa0,
  explicit1: 0xa1,
  /** In a certificate: its extensions. */
  explicit3: 0xa3,
  /** In the names of a subject: a URI. */
  uriName: 0x86,
} as const

/** The elements of a text, one after the other. Lengths must be in their shortest form. */
export function readElements(bytes: Uint8Array): readonly Element[] {
  const found: Element[] = []
  for (let at = 0; at < bytes.length;) {
    const { element, next } = readElement(bytes, at)
    found.push(element)
    at = next
  }
  return found
}

/** The only element of a text, with this tag. */
export function readOnly(bytes: Uint8Array, tag: number): Uint8Array {
  const [only, ...others] = readElements(bytes)
  if (only?.tag !== tag || others.length > 0) throw new DerError('another element was expected')
  return only.content
}

function readElement(bytes: Uint8Array, at: number): { readonly element: Element; readonly next: number } {
  const [tag, first] = [bytes[at], bytes[at + 1]]
  // Tags of several bytes do not occur in certificates.
  if (tag === undefined || first === undefined || (tag & 0x1f) === 0x1f) throw new DerError('a malformed element')
  const { length, start } = readLength(bytes, at + 1, first)
  const next = start + length
  if (next > bytes.length) throw new DerError('an element is cut off')
  return { element: { tag, content: bytes.subarray(start, next) }, next }
}

function readLength(bytes: Uint8Array, at: number, first: number): { readonly length: number; readonly start: number } {
  if (first < 0x80) return { length: first, start: at + 1 }
  const count = first & 0x7f
  if (count === 0 || count > 3) throw new DerError('a malformed length')
  let length = 0
  for (let i = 1; i <= count; i += 1) length = length * 256 + (bytes[at + i] ?? 0)
  if (length < 0x80 || length < 256 ** (count - 1)) throw new DerError('a length that is not the shortest')
  return { length, start: at + 1 + count }
}

/** An object id with its dots. */
export function readObjectId(bytes: Uint8Array): string {
  const parts: number[] = []
  let value = 0
  for (const byte of bytes) {
    value = value * 128 + (byte & 0x7f)
    if (value > Number.MAX_SAFE_INTEGER) throw new DerError('an object id is too long')
    if (byte >= 0x80) continue
    parts.push(value)
    value = 0
  }
  const [first = 0, ...rest] = parts
  const top = Math.min(Math.floor(first / 40), 2)
  return [top, first - top * 40, ...rest].join('.')
}
