import type { IncomingMessage, ServerResponse } from 'node:http'
import { type Route, SERVER_LIMITS } from '@chancery/contract'
import { CachedDocument, HttpResponse } from './response.ts'
import type { JsonObject } from '@chancery/protocol'
import type { MaybePromise } from '../async/maybe-promise.ts'
import type { Call } from './target.ts'

/** Bytes of one stream that the caller has not read. A caller with more is disconnected. */
const UNREAD_BYTES = 65_536
/** A stopping process waits this long for a caller to read the end of its stream. */
const END_MS = 500

/** Writes to an open response. All functions do nothing once the response is over. */
export interface StreamWriter {
  write(text: string): void
  end(): void
}

/** A response that stays open. It uses no slot for requests, so the service must limit how many it opens. */
export class StreamResponse {
  readonly contentType: string
  readonly headers: Readonly<Record<string, string>>
  /** Called when the head is sent. Returns what is called once when the response is over, by either side. */
  readonly start: (writer: StreamWriter) => () => void

  constructor(
    contentType: string,
    start: (writer: StreamWriter) => () => void,
    headers: Readonly<Record<string, string>> = {},
  ) {
    this.contentType = contentType
    this.start = start
    this.headers = headers
  }
}

/** The open streams of one server. */
export class Streams {
  readonly #open = new Set<ServerResponse>()
  #isStopping = false

  get size(): number {
    return this.#open.size
  }

  /** Takes over a response whose head is sent. */
  open(response: ServerResponse, { start }: StreamResponse): void {
    if (response.destroyed || this.#isStopping || response.req.method === 'HEAD') {
      response.end()
      return
    }
    this.#open.add(response)
    // The caller sees the head before the first event.
    response.flushHeaders()
    const onOver = start({ write: (text) => writeTo(response, text), end: () => response.end() })
    response.once('close', () => {
      this.#open.delete(response)
      onOver()
    })
  }

  /** Ends all streams, and those that are opened later, so that a stop does not wait for them. */
  stop(): void {
    this.#isStopping = true
    for (const response of this.#open) {
      const timer = setTimeout(() => response.destroy(), END_MS)
      response.once('close', () => clearTimeout(timer))
      response.end()
    }
  }
}

function writeTo(response: ServerResponse, text: string): void {
  if (response.destroyed || response.writableEnded) return
  response.write(text)
  if (response.writableLength > UNREAD_BYTES) response.destroy()
}

export type HandlerResult = JsonObject | HttpResponse | CachedDocument | StreamResponse

/** A route of the table and its handler. */
export interface Binding {
  readonly route: Route
  readonly handle: (call: Call) => MaybePromise<HandlerResult>
  /** While it gives a promise, calls wait for its end without using a slot of the process. */
  readonly held?: () => Promise<void> | undefined
}

/** The checks between the HTTP edge and the handlers. Each refuses by throwing. */
export interface Guard {
  /** Counts the call. Runs before the body is parsed as JSON, and before a large body is received. */
  limit(call: Omit<Call, 'body'>, route: Route): MaybePromise<void>
  /** Runs before a large body is received. Refuses a call that no body could authorize. */
  screen(call: Omit<Call, 'body'>, route: Route): MaybePromise<void>
  /** Authenticates the caller and returns the call for the handler. */
  authorize(call: Call, route: Route): MaybePromise<Call>
}

/** Smaller answers are not counted: those of all connections together are fewer than the limit. */
const COUNTED_BYTES = 65_536
/** So many bodies of the size of the newest one always fit. */
const BODIES = 4

/** The content of answers that are being sent, in memory once. */
interface Body {
  readonly bytes: number
  readonly readers: Set<Reader>
}

interface Reader {
  readonly address: string
  readonly cut: () => void
}

/** One answer, with its compressed copy for a caller that accepts it. */
interface Answer {
  readonly raw: IncomingMessage
  readonly response: ServerResponse
  readonly gzip: Uint8Array | undefined
}

/**
 * Limits the memory of answers that their callers have not read. A caller can read a few bytes a minute and ask for other
 * large documents over further connections, and each of them stays in memory that long. Above the limit the address that
 * causes the most loses its oldest answer. Readers of one document share its size, so a document that many read is the
 * last one to be cut.
 */
export class UnreadAnswers {
  readonly #maxBytes: number
  /** The body that was sent last is the last one. */
  readonly #bodies = new Map<object, Body>()
  #bytes = 0

  constructor(maxBytes: number = SERVER_LIMITS.unreadAnswerBytes) {
    this.#maxBytes = maxBytes
  }

  /** Bytes of all counted answers, each document once. */
  get bytes(): number {
    return this.#bytes
  }

  /** Counts a large answer until it is sent. */
  count({ raw, response, gzip }: Answer, result: HandlerResult, address: string): void {
    const { socket } = raw
    const content = contentOf(result, raw.headers['if-none-match'], gzip)
    if (content === undefined || raw.method === 'HEAD' || socket.destroyed) return
    const end = this.add(content, address, () => socket.destroy())
    if (end === undefined) return
    // A response that waits behind another one on its connection has no event when the connection ends.
    socket.once('close', end)
    response.once('close', () => {
      socket.off('close', end)
      end()
    })
  }

  /** Counts an answer until the returned function is called. `cut` ends its connection. */
  add(content: string | Uint8Array, address: string, cut: () => void): (() => void) | undefined {
    if (content.length < COUNTED_BYTES) return undefined
    // Texts are made for one answer.
    const key = typeof content === 'string' ? {} : content
    const reader = { address, cut }
    const body = this.#bodies.get(key) ?? { bytes: content.length, readers: new Set() }
    if (body.readers.size === 0) this.#bytes += body.bytes
    body.readers.add(reader)
    this.#bodies.delete(key)
    this.#bodies.set(key, body)
    this.#makeRoom(body)
    return () => this.#end(key, body, reader)
  }

  #end(key: object, body: Body, reader: Reader): void {
    if (!body.readers.delete(reader) || body.readers.size > 0) return
    this.#bytes -= body.bytes
    if (this.#bodies.get(key) === body) this.#bodies.delete(key)
  }

  #makeRoom(newest: Body): void {
    const limit = Math.max(this.#maxBytes, BODIES * newest.bytes)
    while (this.#bytes > limit) {
      const address = this.#largestUser(newest)
      for (const [key, body] of this.#bodies) {
        const cut = body === newest ? [] : [...body.readers].filter((reader) => reader.address === address)
        for (const reader of cut) {
          this.#end(key, body, reader)
          reader.cut()
        }
        if (cut.length > 0) break
      }
      // Only the newest body is left.
      if (address === undefined) return
    }
  }

  /** The address with the most bytes in other bodies than the newest one. */
  #largestUser(newest: Body): string | undefined {
    const used = new Map<string, number>()
    for (const body of this.#bodies.values())
      if (body !== newest)
        for (const { address } of body.readers)
          used.set(address, (used.get(address) ?? 0) + body.bytes / body.readers.size)
    let largest: string | undefined
    for (const [address, bytes] of used)
      if (largest === undefined || bytes > (used.get(largest) ?? 0)) largest = address
    return largest
  }
}

/** The bytes that are sent; undefined for a document that the caller has. */
function contentOf(
  result: HandlerResult,
  ifNoneMatch: string | undefined,
  gzip: Uint8Array | undefined,
): string | Uint8Array | undefined {
  if (result instanceof HttpResponse) return result.body
  if (!(result instanceof CachedDocument) || result.formHeldBy(ifNoneMatch) !== undefined) return undefined
  return gzip ?? result.bytes
}
