import { type JsonValue, isJsonObject, readJsonBytes } from '@chancery/protocol'
import { StepFailureError } from './stored-facts.ts'

/** A signed document has few members, whatever their size is. */
const MAX_MEMBERS = 32
/** Names and small members, such as signatures. */
const MAX_SMALL_BYTES = 16_384

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a]
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_LIST, CLOSE_LIST] = [0x7b, 0x7d, 0x5b, 0x5d]

/** A member of a document, found and not read. */
interface Member {
  readonly bytes: Uint8Array
  /** Values directly in it; 1 for a scalar and for an empty list. */
  readonly values: number
}

/**
 * The members of a document that may be megabytes long. Its bytes are passed over once, and no value is made of them:
 * whether the whole is JSON is found when it is read. A signature is over the canonical form, which exists only after
 * reading. So first the head must be right and signed, and the rest of a possible size.
 */
export class DocumentHead {
  readonly #members: ReadonlyMap<string, Member>

  constructor(bytes: Uint8Array) {
    this.#members = findMembers(bytes)
  }

  /** Number of values directly in a member; 0 without the member. */
  count(name: string): number {
    return this.#members.get(name)?.values ?? 0
  }

  /** A small member. Undefined without it. */
  read(name: string, maxBytes = MAX_SMALL_BYTES): JsonValue | undefined {
    const member = this.#members.get(name)
    if (member === undefined) return undefined
    if (member.bytes.length > maxBytes) throw new StepFailureError('malformed')
    return readJsonBytes(member.bytes)
  }

  /** Fails for a document that no key can have signed. */
  requireSigned(): void {
    const found = this.read('signatures')
    const isSigned = Array.isArray(found) && found.some((each) => isJsonObject(each) && each['sig'] !== undefined)
    if (!isSigned) throw new StepFailureError('unauthentic')
  }
}

function findMembers(bytes: Uint8Array): ReadonlyMap<string, Member> {
  const members = new Map<string, Member>()
  let at = afterSpace(bytes, 0)
  if (bytes[at] !== OPEN_OBJECT) throw new StepFailureError('malformed')
  at = afterSpace(bytes, at + 1)
  while (bytes[at] !== CLOSE_OBJECT) {
    const nameEnd = stringEnd(bytes, at)
    const name = readName(bytes.subarray(at, nameEnd))
    const colon = afterSpace(bytes, nameEnd)
    if (members.has(name) || members.size === MAX_MEMBERS || bytes[colon] !== COLON)
      throw new StepFailureError('malformed')
    const { end, values } = passValue(bytes, colon + 1)
    members.set(name, { bytes: bytes.subarray(colon + 1, end), values })
    at = bytes[end] === COMMA ? afterSpace(bytes, end + 1) : end
  }
  return members
}

function readName(bytes: Uint8Array): string {
  if (bytes.length > MAX_SMALL_BYTES) throw new StepFailureError('malformed')
  const name = readJsonBytes(bytes)
  if (typeof name !== 'string') throw new StepFailureError('malformed')
  return name
}

/** Passes over a value, up to the comma or bracket after it. */
function passValue(bytes: Uint8Array, from: number): { readonly end: number; readonly values: number } {
  let [depth, commas] = [0, 0]
  for (let at = from; at < bytes.length; at += 1) {
    const byte = bytes[at]
    if (byte === QUOTE) at = stringEnd(bytes, at) - 1
    else if (byte === OPEN_OBJECT || byte === OPEN_LIST) depth += 1
    else if (byte === COMMA && depth === 1) commas += 1
    else if (depth === 0 && (byte === COMMA || byte === CLOSE_OBJECT)) return { end: at, values: commas + 1 }
    else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1
  }
  throw new StepFailureError('malformed')
}

/** The place after the closing quote. */
function stringEnd(bytes: Uint8Array, from: number): number {
  if (bytes[from] !== QUOTE) throw new StepFailureError('malformed')
  for (let at = bytes.indexOf(QUOTE, from + 1); at !== -1; at = bytes.indexOf(QUOTE, at + 1)) {
    let before = at
    while (bytes[before - 1] === BACKSLASH) before -= 1
    if ((at - before) % 2 === 0) return at + 1
  }
  throw new StepFailureError('malformed')
}

function afterSpace(bytes: Uint8Array, from: number): number {
  let at = from
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at += 1
  return at
}
