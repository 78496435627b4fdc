import { Refusal, SERVER_LIMITS } from '@chancery/contract'
import { fromUtf8, toUtf8 } from '@chancery/protocol'
import type { IncomingMessage } from 'node:http'

/**
 * HTTP that two parsers could read differently. The response is 400 and the connection is closed, because following
 * bytes cannot be trusted.
 */
export class MalformedRequestError extends Refusal {
  constructor() {
    super('bad_request')
  }
}

/** Decoded parameters in order of appearance. */
export interface Query {
  /** Returns the first value of a parameter. */
  first(name: string): string | undefined
  /** Every name with its values, as operator signatures cover them. */
  toObject(): { readonly [name: string]: readonly string[] }
}

/** Returns path and query of a request target in origin form; other forms are `bad_request` (protocol/core 3). */
export function readTarget(target: string): { readonly path: string; readonly query: Query } {
  // Absolute form, authority form and fragments are refused.
  if (!target.startsWith('/') || target.includes('#')) throw new MalformedRequestError()
  const cut = target.indexOf('?')
  const path = decode(cut < 0 ? target : target.slice(0, cut))
  return { path, query: readQuery(cut < 0 ? '' : target.slice(cut + 1)) }
}

const NO_QUERY: Query = { first: () => undefined, toObject: () => ({}) }

function readQuery(text: string): Query {
  if (text === '') return NO_QUERY
  const values = new Map<string, string[]>()
  let count = 0
  for (const part of text.split('&')) {
    if (part === '') continue
    count += 1
    if (count > SERVER_LIMITS.queryParameters) throw new Refusal('bad_request')
    const cut = part.indexOf('=')
    const name = decode((cut < 0 ? part : part.slice(0, cut)).replaceAll('+', ' '))
    const value = decode((cut < 0 ? '' : part.slice(cut + 1)).replaceAll('+', ' '))
    if (toUtf8(value).length > SERVER_LIMITS.queryValueBytes) throw new Refusal('bad_request')
    const present = values.get(name)
    if (present === undefined) values.set(name, [value])
    else present.push(value)
  }
  return { first: (name) => values.get(name)?.[0], toObject: () => Object.fromEntries(values) }
}

/** Percent-decodes exactly once. A result that is not UTF-8 is refused. */
export function decode(text: string): string {
  if (!text.includes('%')) return text
  const bytes: number[] = []
  for (let i = 0; i < text.length; i += 1) {
    if (text.charAt(i) === '%') {
      const hex = text.slice(i + 1, i + 3)
      if (!/^[0-9A-Fa-f]{2}$/.test(hex)) throw new Refusal('bad_request')
      bytes.push(Number.parseInt(hex, 16))
      i += 2
    } else {
      // Node returns the target as Latin-1, one character per byte.
      bytes.push(text.charCodeAt(i))
    }
  }
  const decoded = fromUtf8(Uint8Array.from(bytes))
  // Much software ends a text at a NUL, and PostgreSQL cannot store it.
  if (decoded === undefined || decoded.includes('\0')) throw new Refusal('bad_request')
  return decoded
}

/** Names whose repetition lets two parsers see two requests (request smuggling, header injection), each as one bit. */
const ONCE = {
  host: 1,
  'content-length': 2,
  'transfer-encoding': 4,
  'content-type': 8,
  authorization: 16,
} as const
const BY_NAME: ReadonlyMap<string, number> = new Map(Object.entries(ONCE))
const LENGTHS: ReadonlySet<number> = new Set(Object.keys(ONCE).map((name) => name.length))

/**
 * Refuses requests that Node's parser accepts but this service does not. Uses the raw header list, because the parsed
 * object has already dropped or joined repeated names.
 */
export function checkRawRequest(request: IncomingMessage): void {
  if (request.method === 'TRACE' || request.method === 'CONNECT') throw new MalformedRequestError()
  const raw = request.rawHeaders
  if (raw.length / 2 > SERVER_LIMITS.headerCount) throw new Refusal('request_header_fields_too_large')
  let seen = 0
  for (let i = 0; i < raw.length; i += 2) {
    const name = raw[i] ?? ''
    if (!LENGTHS.has(name.length)) continue
    const bit = BY_NAME.get(name.toLowerCase()) ?? 0
    if ((seen & bit) !== 0) throw new MalformedRequestError()
    seen |= bit
  }
  // HTTP/1.1 requires Host, and a proxy may have routed by another one.
  if ((seen & ONCE.host) === 0 && request.httpVersion === '1.1') throw new MalformedRequestError()
  // Both framings together allow request smuggling.
  if ((seen & ONCE['content-length']) !== 0 && (seen & ONCE['transfer-encoding']) !== 0)
    throw new MalformedRequestError()
}

/** Header access that shows repetition. Node's own object joins or drops repeated names. */
export interface RequestHeaders {
  /** The first value, or undefined. */
  get(name: string): string | undefined
  /** Every value in order of appearance. */
  all(name: string): readonly string[]
}

/** Headers as the parser lists them, alternating names and values. Searched on demand, because few are read. */
export class RawHeaders implements RequestHeaders {
  readonly #raw: readonly string[]

  constructor(raw: readonly string[]) {
    this.#raw = raw
  }

  get(name: string): string | undefined {
    const wanted = name.toLowerCase()
    for (let i = 0; i + 1 < this.#raw.length; i += 2) if (this.#isNamed(i, wanted)) return this.#raw[i + 1] ?? ''
    return undefined
  }

  all(name: string): readonly string[] {
    const wanted = name.toLowerCase()
    const found: string[] = []
    for (let i = 0; i + 1 < this.#raw.length; i += 2) if (this.#isNamed(i, wanted)) found.push(this.#raw[i + 1] ?? '')
    return found
  }

  #isNamed(index: number, wanted: string): boolean {
    const name = this.#raw[index]
    return name?.length === wanted.length && name.toLowerCase() === wanted
  }
}

/** What one `traceparent` header says (W3C Trace Context). It is text of a caller: it is stored and passed on only. */
export interface TraceParent {
  /** The header as sent. */
  readonly text: string
  readonly traceId: string
}

const TRACE_PARENT = /^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$/
const ZEROS = /^0+$/

/** Reads the values of the header. Undefined unless there is exactly one, of version 00, and no id in it is zero. */
export function readTraceParent(values: readonly string[]): TraceParent | undefined {
  const [text, ...more] = values
  if (text === undefined || more.length > 0) return undefined
  const [, traceId, parentId] = TRACE_PARENT.exec(text) ?? []
  if (traceId === undefined || parentId === undefined || ZEROS.test(traceId) || ZEROS.test(parentId)) return undefined
  return { text, traceId }
}
