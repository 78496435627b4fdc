import { createHash } from 'node:crypto'
import type { ReadStream } from 'node:fs'
import type { FileHandle } from 'node:fs/promises'
import { type Unopened, withRegularFile } from '../../files/regular-file.ts'

/** Reads files of a release. No link is followed, and a file that grows does not keep the reader. */

/** The problem of a file that is not read. */
export type Unread = Unopened | 'too large'

/** Not for files that may be larger than memory. */
export async function readRegular(path: string, maxBytes: number): Promise<Buffer | Unread> {
  return withRegularFile(path, 'refuse', async (handle, size) => {
    if (size > maxBytes) return 'too large'
    const chunks: Uint8Array[] = []
    for await (const chunk of chunksOf(handle, size)) chunks.push(chunk as Uint8Array)
    return Buffer.concat(chunks)
  })
}

/** SHA-256 in hex. */
export async function digestRegular(path: string): Promise<{ readonly sha256: string } | Unopened> {
  return withRegularFile(path, 'refuse', async (handle, size) => {
    const hash = createHash('sha256')
    for await (const chunk of chunksOf(handle, size)) hash.update(chunk as Uint8Array)
    return { sha256: hash.digest('hex') }
  })
}

/** One byte more than the file had: a file that grows has another digest. */
function chunksOf(handle: FileHandle, size: number): ReadStream {
  return handle.createReadStream({ autoClose: false, end: size })
}
