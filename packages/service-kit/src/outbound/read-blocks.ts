import type { IncomingMessage } from 'node:http'
import { type Readable, pipeline } from 'node:stream'
import { createGunzip } from 'node:zlib'
import { ByteBlocks } from '@chancery/protocol'

/** Size of one decoded piece. The limit is checked after each. */
const DECODED_BYTES = 65_536
/** How many compressed bytes may be read before their decoded bytes. Gzip adds less; the rest is in buffers. */
const AHEAD_BYTES = 1_048_576

/** The body is larger than the limit. */
export class OversizeError extends Error {
  override readonly name = 'OversizeError'
}

/**
 * Reads the body of a response in blocks. Bytes are counted while reading, before and after decoding: a length header
 * may be wrong, a few bytes can decode to many, and many to none, which costs processor time. The blocks are not joined
 * here, because that would block the event loop.
 */
export async function readBlocks(
  response: IncomingMessage,
  { maxBytes, takesGzip = false }: { readonly maxBytes: number; readonly takesGzip?: boolean },
): Promise<Uint8Array<ArrayBuffer>[]> {
  if (Number(response.headers['content-length'] ?? 0) > maxBytes) {
    response.destroy()
    throw new OversizeError()
  }
  const isCoded = takesGzip && response.headers['content-encoding']?.toLowerCase() === 'gzip'
  const blocks = new ByteBlocks()
  async function* counted(coded: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    let size = 0
    for await (const chunk of coded) {
      size += chunk.length
      if (size > Math.min(maxBytes, blocks.size + AHEAD_BYTES)) throw new OversizeError()
      yield chunk
    }
  }
  const source: Readable = isCoded
    ? // Errors of each part reach the reader of the last part.
      pipeline(response, counted, createGunzip({ chunkSize: DECODED_BYTES }), () => undefined)
    : response
  for await (const chunk of source as AsyncIterable<Buffer>) {
    if (blocks.size + chunk.length > maxBytes) {
      response.destroy()
      throw new OversizeError()
    }
    blocks.add(chunk)
  }
  return blocks.take()
}
