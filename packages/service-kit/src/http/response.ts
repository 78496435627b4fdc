import { isAscii } from 'node:buffer'
import { createHash } from 'node:crypto'
import { CONTENT_TYPES, SECURITY_HEADERS } from '@chancery/contract'
import { type JsonObject, type JsonValue, writeJson } from '@chancery/protocol'

/** What a handler returns. Without a status, the status of the route is used. */
export class HttpResponse {
  readonly body: string | Uint8Array
  readonly contentType: string
  readonly status: number | undefined
  /** In addition to the headers of every response. */
  readonly headers: { readonly [name: string]: string } | undefined

  constructor(
    body: string | Uint8Array,
    contentType: string,
    status?: number,
    headers?: { readonly [name: string]: string },
  ) {
    this.body = body
    this.contentType = contentType
    this.status = status
    this.headers = headers
  }
}

/** Returns a JSON response. No serializer drops or reorders members of a signed record. */
export function json(value: JsonValue, status?: number): HttpResponse {
  return new HttpResponse(writeJson(value), CONTENT_TYPES.json, status)
}

/** JSON that is already text, for example a stored record. */
export function jsonText(text: string, status?: number): HttpResponse {
  return new HttpResponse(text, CONTENT_TYPES.json, status)
}

/** Up to this size a document is also cached as text, so that it is sent in one piece with its head. */
const SHORT_BYTES = 16_384

/**
 * Bytes cached for many readers, with a strong ETag, so that a CDN can serve them and a reader that has them gets 304.
 * Headers are prepared once.
 */
export class CachedDocument {
  readonly bytes: Uint8Array
  readonly etag: string
  readonly contentType: string
  readonly cacheControl: string
  /** The bytes as text, when they are few and all ASCII. */
  readonly text: string | undefined
  /** Alternating names and values, for a full response and for a 304. */
  readonly headers: readonly string[]
  readonly briefHeaders: readonly string[]
  /** Large enough for a compressed copy, which has its own ETag because its bytes differ. */
  readonly isLarge: boolean

  readonly #named: readonly string[]

  /** `etag` is given when the bytes were hashed in another thread. */
  constructor(
    bytes: Uint8Array,
    cacheControl: string,
    contentType: string = CONTENT_TYPES.json,
    etag: string = etagOf(bytes),
    /** Further headers of this document. */
    more: Readonly<Record<string, string>> = {},
  ) {
    this.bytes = bytes
    this.cacheControl = cacheControl
    this.contentType = contentType
    this.etag = etag
    this.text = bytes.length <= SHORT_BYTES ? toAscii(bytes) : undefined
    this.isLarge = bytes.length > SHORT_BYTES && !('Content-Encoding' in more)
    const vary = this.isLarge ? { Vary: 'Accept-Encoding' } : {}
    const named = { ...SECURITY_HEADERS, 'Cache-Control': cacheControl, ...vary, ...more }
    this.#named = Object.entries(named).flat()
    this.briefHeaders = [...this.#named, 'ETag', etag]
    this.headers = [...this.briefHeaders, 'Content-Type', contentType, 'Content-Length', String(bytes.length)]
  }

  /** Headers of the compressed copy. */
  gzipHeaders(length: number): string[] {
    const { contentType } = this
    const type = ['Content-Type', contentType, 'Content-Encoding', 'gzip', 'Content-Length', String(length)]
    return [...this.gzipBriefHeaders(), ...type]
  }

  gzipBriefHeaders(): string[] {
    return [...this.#named, 'ETag', gzipTag(this.etag)]
  }

  /** Returns which form the reader already has, by its If-None-Match. Both forms are the same version. */
  formHeldBy(ifNoneMatch: string | undefined): 'plain' | 'gzip' | undefined {
    if (isNotModified(ifNoneMatch, this.etag)) return 'plain'
    return this.isLarge && isNotModified(ifNoneMatch, gzipTag(this.etag)) ? 'gzip' : undefined
  }
}

/**
 * A document that was made for one caller and that few others ask for, such as an earlier version. Anyone may ask for
 * many of them, so at most one is compressed at a time, and documents that many read do not wait for it.
 */
export class RareDocument extends CachedDocument {}

function gzipTag(etag: string): string {
  return `${etag.slice(0, -1)}.gzip"`
}

/** Returns a strong ETag of the bytes. */
export function etagOf(bytes: Uint8Array): string {
  return `"${createHash('sha256').update(bytes).digest('base64url')}"`
}

/** From this size on bytes are hashed in the thread pool. */
const LARGE_BYTES = 1_048_576

/** As {@link etagOf}, without holding the event loop for large bytes. */
export async function etagAside(bytes: Uint8Array<ArrayBuffer>): Promise<string> {
  if (bytes.length < LARGE_BYTES) return etagOf(bytes)
  const digest = await crypto.subtle.digest('SHA-256', bytes)
  return `"${Buffer.from(digest).toString('base64url')}"`
}

function toAscii(bytes: Uint8Array): string | undefined {
  const view = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  return isAscii(view) ? view.toString('latin1') : undefined
}

/** Returns true when an If-None-Match value names this ETag or `*` (RFC 9110 section 13.1.2). */
export function isNotModified(ifNoneMatch: string | undefined, etag: string): boolean {
  if (ifNoneMatch === undefined) return false
  return ifNoneMatch.split(',').some((entry) => {
    const tag = entry.trim()
    return tag === '*' || tag === etag || tag === `W/${etag}`
  })
}

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

export type HandlerResult = JsonObject | HttpResponse | CachedDocument | StreamResponse
