import type { IncomingMessage, ServerResponse } from 'node:http'
import { SERVER_LIMITS } from '@chancery/contract'
import { CachedDocument, type HandlerResult, HttpResponse } from './response.ts'

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
