import type { ServerResponse } from 'node:http'
import { OWN_REQUEST_ID_HEADER, REQUEST_ID_HEADER, SERVER_LIMITS } from '@chancery/contract'
import { CachedDocument, type HandlerResult, HttpResponse, StreamResponse, json } from './response.ts'

/** Options of a response besides its result. */
export interface Envelope {
  readonly requestId: string
  /** The request id of the caller, which is sent in place of the own one. */
  readonly echoedId?: string | undefined
  readonly status: number
  /** Set when no further request may be read from this connection. */
  readonly closing: Closing | undefined
  /** The compressed copy of a cached document, for a caller that accepts it. */
  readonly gzip?: Uint8Array | undefined
}

/** after-rest: a body is still arriving. It is read and dropped for a moment, so that the caller can read the response. */
export type Closing = 'now' | 'after-rest'

/** Writes responses, with the headers that all of them have. */
export class Sender {
  readonly streams: Streams = new Streams()
  readonly #fixed: Readonly<Record<string, string>>
  /** Alternating names and values, the fastest form for Node. */
  readonly #fixedPairs: readonly string[]

  constructor(fixedHeaders: Readonly<Record<string, string>>) {
    this.#fixed = fixedHeaders
    this.#fixedPairs = Object.entries(fixedHeaders).flat()
  }

  send(response: ServerResponse, result: HandlerResult, envelope: Envelope): void {
    if (result instanceof StreamResponse) return this.#sendStream(response, result, envelope)
    if (result instanceof CachedDocument) sendCached(response, result, envelope)
    else this.#send(response, result instanceof HttpResponse ? result : json(result), envelope)
    cutSlowReader(response)
  }

  #send(response: ServerResponse, { body, contentType, headers }: HttpResponse, envelope: Envelope): void {
    const length = Buffer.byteLength(body)
    const pairs = headers === undefined ? [...this.#fixedPairs] : this.#pairsWith(headers)
    pairs.push(REQUEST_ID_HEADER, envelope.echoedId ?? envelope.requestId)
    if (envelope.echoedId !== undefined) pairs.push(OWN_REQUEST_ID_HEADER, envelope.requestId)
    if (contentType !== '') pairs.push('Content-Type', contentType)
    if (envelope.status !== 204) pairs.push('Content-Length', String(length))
    if (envelope.closing !== undefined) pairs.push('Connection', 'close')
    response.writeHead(envelope.status, pairs)
    if (envelope.closing === 'after-rest') endAfterRest(response, body)
    else endWith(response, body, length)
  }

  #sendStream(response: ServerResponse, stream: StreamResponse, { requestId, status, closing }: Envelope): void {
    const pairs = this.#pairsWith({ ...stream.headers, 'Content-Type': stream.contentType })
    pairs.push(REQUEST_ID_HEADER, requestId)
    if (closing !== undefined) pairs.push('Connection', 'close')
    response.writeHead(status, pairs)
    this.streams.open(response, stream)
  }

  /** A response's own header replaces the fixed one of the same name. */
  #pairsWith(headers: Readonly<Record<string, string>>): string[] {
    const names = Object.keys(headers)
    const pairs = names.some((name) => name in this.#fixed)
      ? Object.entries(this.#fixed).flatMap(([name, value]) => (name in headers ? [] : [name, value]))
      : [...this.#fixedPairs]
    for (const name of names) pairs.push(name, headers[name] ?? '')
    return pairs
  }
}

function sendCached(response: ServerResponse, document: CachedDocument, { requestId, closing, gzip }: Envelope): void {
  const held = document.formHeldBy(response.req.headers['if-none-match'])
  const pairs = [...forwardedHeaders(document, held, gzip), REQUEST_ID_HEADER, requestId]
  if (closing !== undefined) pairs.push('Connection', 'close')
  response.writeHead(held === undefined ? 200 : 304, pairs)
  if (held !== undefined) response.end()
  else if (gzip !== undefined) endWith(response, gzip, gzip.length)
  else endWith(response, document.text ?? document.bytes, document.bytes.length)
}

function forwardedHeaders(
  document: CachedDocument,
  held: 'plain' | 'gzip' | undefined,
  gzip: Uint8Array | undefined,
): readonly string[] {
  if (held !== undefined) return held === 'gzip' ? document.gzipBriefHeaders() : document.briefHeaders
  return gzip === undefined ? document.headers : document.gzipHeaders(gzip.length)
}

/** HEAD has the headers of GET, including the length, and no body. */
function endWith(response: ServerResponse, body: string | Uint8Array, length: number): void {
  if (length === 0 || response.req.method === 'HEAD') response.end()
  else if (typeof body !== 'string') response.end(body)
  // A text is sent in one piece with its head, and without encoding when all characters are ASCII.
  else response.end(body, length === body.length ? 'latin1' : 'utf8')
}

/** How long an arriving body is read and dropped. */
const REST_MS = 1000

/**
 * Closing immediately would reset the connection, and a caller that is still sending would not receive the response.
 */
function endAfterRest(response: ServerResponse, body: string | Uint8Array): void {
  const { req } = response
  if (req.method === 'HEAD' || body.length === 0) response.flushHeaders()
  else response.write(body)
  const timer = setTimeout(() => response.end(), REST_MS)
  const end = (): void => {
    clearTimeout(timer)
    response.end()
  }
  req.once('end', end).once('error', end).once('close', end)
  req.resume()
}

/**
 * Ends a response that the caller does not read: it would use its memory and its connection permanently. A response
 * that was passed to the operating system uses neither.
 */
function cutSlowReader(response: ServerResponse): void {
  if (response.writableLength === 0 && response.socket?.writableLength === 0) return
  response.setTimeout(SERVER_LIMITS.responseIdleSeconds * 1000, () => response.destroy())
}

/** Bytes of one stream that the caller has not read. A caller with more is disconnected. */
const UNREAD_BYTES = 65_536
/** A stopping process waits this long for a caller to read the end of its stream. */
const END_MS = 500

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
