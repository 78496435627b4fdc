import { isAscii } from 'node:buffer'
import { createHash } from 'node:crypto'
import { CONTENT_TYPES, SECURITY_HEADERS } from '@chancery/contract'
import { type JsonValue, writeJson } from '@chancery/protocol'
import { promisify } from 'node:util'
import { constants, gzip, zstdCompress } from 'node:zlib'

/**
 * The quality that an Accept-Encoding value gives to a coding, by one of its names; 0 when it is not accepted (RFC 9110
 * section 12.5.3). Without the header nothing is accepted. `*` counts for `any` only.
 */
function qualityOf(accept: string | undefined, names: readonly string[], any?: 'any'): number {
  let otherwise = 0
  for (const entry of (accept ?? '').split(',')) {
    const [name = '', ...parameters] = entry.split(';').map((part) => part.trim().toLowerCase())
    const given = parameters.find((each) => /^q=[01](?:\.[0-9]{0,3})?$/.test(each))
    const quality = given === undefined ? 1 : Number(given.slice(2))
    if (names.includes(name)) return quality
    if (name === '*' && any !== undefined) otherwise = quality
  }
  return otherwise
}

export function gzipQuality(accept: string | undefined): number {
  return qualityOf(accept, ['gzip', 'x-gzip'], 'any')
}

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

type Coding = 'gzip' | 'zstd'

/** Compressing uses a thread of the platform's pool, which signatures need too. */
const AT_ONCE = 2
/** A smaller page fits in one packet as it is. */
const MIN_BYTES = 1024
/** Higher levels take several times as long for a tenth less. */
const CODERS: Readonly<Record<Coding, (bytes: Uint8Array) => Promise<Uint8Array>>> = {
  gzip: (bytes) => promisify(gzip)(bytes, { level: 2 }),
  zstd: (bytes) => promisify(zstdCompress)(bytes, { params: { [constants.ZSTD_c_compressionLevel]: 1 } }),
}

/**
 * Compresses pages for readers that ask for it. Only for pages without secrets: the length of a compressed text depends
 * on its content. A page is compressed as a whole, outside the event loop, because the client library reads a compressed
 * answer only with its length. So the memory is that of two pages; other pages are sent as they are meanwhile.
 */
export class CodedPages {
  #running = 0

  async respond(page: string, contentType: string, accept: string | undefined): Promise<HttpResponse> {
    const vary = { Vary: 'Accept-Encoding' }
    const coding = chooseCoding(accept)
    if (coding === undefined || page.length < MIN_BYTES || this.#running >= AT_ONCE)
      return new HttpResponse(page, contentType, undefined, vary)
    this.#running += 1
    try {
      const coded = await CODERS[coding](Buffer.from(page))
      return new HttpResponse(coded, contentType, undefined, { ...vary, 'Content-Encoding': coding })
    } finally {
      this.#running -= 1
    }
  }
}

/** zstd for readers that name it, unless they prefer gzip. */
function chooseCoding(accept: string | undefined): Coding | undefined {
  const [zstd, gzipped] = [qualityOf(accept, ['zstd']), gzipQuality(accept)]
  if (zstd > 0 && zstd >= gzipped) return 'zstd'
  return gzipped > 0 ? 'gzip' : undefined
}
