import type { IncomingMessage } from 'node:http'
import { pipeline } from 'node:stream'
import type { Readable } from 'node:stream'
import { createGunzip } from 'node:zlib'

const BLOCK_BYTES = 1_048_576
/** A piece of what is decoded; the bound is looked at after each. */
const DECODED_BYTES = 65_536

/** There is more of it than may be read. */
export class OversizeError extends Error {
  override readonly name = 'OversizeError'
}

/**
 * The body of an answer in blocks. Counted while it is read and, where it is compressed, while it is decoded: a length
 * header may lie, and a few bytes can stand for many. Nothing is joined here, which would hold the event loop.
 */
export async function readBlocks(
  answer: IncomingMessage,
  { maxBytes, takesGzip = false }: { readonly maxBytes: number; readonly takesGzip?: boolean },
): Promise<Uint8Array<ArrayBuffer>[]> {
  if (Number(answer.headers['content-length'] ?? 0) > maxBytes) {
    answer.destroy()
    throw new OversizeError()
  }
  const isCoded = takesGzip && answer.headers['content-encoding']?.toLowerCase() === 'gzip'
  const source: Readable = isCoded
    ? // Errors of either side reach the reader of the last.
      pipeline(answer, createGunzip({ chunkSize: DECODED_BYTES }), () => undefined)
    : answer
  const blocks = new Blocks()
  for await (const chunk of source as AsyncIterable<Buffer>) {
    if (blocks.size + chunk.length > maxBytes) {
      answer.destroy()
      throw new OversizeError()
    }
    blocks.add(chunk)
  }
  return blocks.take()
}

class Blocks {
  readonly #full: Uint8Array<ArrayBuffer>[] = []
  #last = new Uint8Array()
  #used = 0
  size = 0

  add(chunk: Uint8Array): void {
    this.size += chunk.length
    for (let at = 0; at < chunk.length;) {
      if (this.#used === this.#last.length) this.#next()
      const piece = chunk.subarray(at, at + this.#last.length - this.#used)
      this.#last.set(piece, this.#used)
      this.#used += piece.length
      at += piece.length
    }
  }

  take(): Uint8Array<ArrayBuffer>[] {
    return this.#used === 0 ? this.#full : [...this.#full, this.#last.subarray(0, this.#used)]
  }

  /** Small answers get small blocks. */
  #next(): void {
    if (this.#used > 0) this.#full.push(this.#last)
    this.#last = new Uint8Array(Math.min(BLOCK_BYTES, Math.max(16_384, this.#last.length * 4)))
    this.#used = 0
  }
}
