import type { IncomingHttpHeaders } from 'node:http'
import { gzip } from 'node:zlib'
import type { MaybePromise } from '../async/maybe-promise.ts'
import { CachedDocument, RareDocument, gzipQuality } from './response.ts'
import type { HandlerResult } from './unread-answers.ts'

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
  copyFor(answer: HandlerResult, headers: IncomingHttpHeaders): MaybePromise<Uint8Array | undefined> {
    if (!(answer instanceof CachedDocument) || !answer.isLarge || gzipQuality(headers['accept-encoding']) === 0)
      return undefined
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
