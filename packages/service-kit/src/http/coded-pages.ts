import { promisify } from 'node:util'
import { constants, gzip, zstdCompress } from 'node:zlib'
import { gzipQuality, qualityOf } from './content-coding.ts'
import { HttpResponse } from './response.ts'

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
