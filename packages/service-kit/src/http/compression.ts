import type { IncomingHttpHeaders } from 'node:http'
import { promisify } from 'node:util'
import { constants, gzip, zstdCompress } from 'node:zlib'
import type { MaybePromise } from '../async/steps.ts'
import { type CachedDocument, HttpResponse, RareDocument } from './response.ts'

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

function gzipQuality(accept: string | undefined): number {
  return qualityOf(accept, ['gzip', 'x-gzip'], 'any')
}

/** Limit of all copies together. A list of 64 MiB compresses to about 14 MiB. */
const CACHED_BYTES = 67_108_864
/** Compressing uses a thread of the platform's pool, which signatures need too. */
const AT_ONCE = 2
/** One place stays for the documents that many read: sent uncompressed, they are five times as large. */
const RARE_AT_ONCE = 1
/** Measured on revocation lists: higher levels take three times as long for a fiftieth less. */
const LEVEL = 2

/**
 * Compressed copies of large documents: each version is compressed once, outside the event loop, and cached for all callers that
 * read it. Found by ETag, because some documents are read from the database for every request.
 */
export class GzipCopies {
  readonly #keptBytes: number
  /** The least recently used copy comes first. */
  readonly #copies = new Map<string, Uint8Array>()
  readonly #running = new Map<string, Promise<Uint8Array | undefined>>()
  #bytes = 0

  constructor(keptBytes: number = CACHED_BYTES) {
    this.#keptBytes = keptBytes
  }

  get bytes(): number {
    return this.#bytes
  }

  /** The first reader of a new version waits until it is compressed. A reader that has it, or accepts no copy, does not. */
  copyFor(answer: CachedDocument, headers: IncomingHttpHeaders): MaybePromise<Uint8Array | undefined> {
    if (!answer.isLarge || gzipQuality(headers['accept-encoding']) === 0) return undefined
    return answer.formHeldBy(headers['if-none-match']) === undefined ? this.copyOf(answer) : undefined
  }

  /**
   * Returns undefined when the document must be sent uncompressed: others are being compressed, or it did not get
   * smaller.
   */
  copyOf(document: CachedDocument): MaybePromise<Uint8Array | undefined> {
    const { etag } = document
    const kept = this.#copies.get(etag)
    if (kept !== undefined) {
      this.#copies.delete(etag)
      this.#copies.set(etag, kept)
      return kept
    }
    const running = this.#running.get(etag)
    const most = document instanceof RareDocument ? RARE_AT_ONCE : AT_ONCE
    if (running !== undefined || this.#running.size >= most) return running
    const started = this.#make(document).finally(() => this.#running.delete(etag))
    this.#running.set(etag, started)
    return started
  }

  async #make({ bytes, etag }: CachedDocument): Promise<Uint8Array | undefined> {
    const copy = await new Promise<Uint8Array | undefined>((resolve) =>
      gzip(bytes, { level: LEVEL }, (error, made) => resolve(error === null ? made : undefined)),
    )
    if (copy === undefined || copy.length >= bytes.length || copy.length > this.#keptBytes) return undefined
    this.#copies.set(etag, copy)
    this.#bytes += copy.length
    for (const [oldest, { length }] of this.#copies) {
      if (this.#bytes <= this.#keptBytes) break
      this.#copies.delete(oldest)
      this.#bytes -= length
    }
    return copy
  }
}

type Coding = 'gzip' | 'zstd'

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
