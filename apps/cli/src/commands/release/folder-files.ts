import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import type { ReadStream } from 'node:fs'
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { errorCode } from '../../files/files.ts'

/**
 * Reads files of a folder that anyone can have made. No link is followed, a pipe or a device is never waited for, and
 * a file that grows does not keep the reader.
 */

/** The problem of a file that is not read. */
export type Unread = 'missing' | 'not a regular file' | 'too large'

/** Not for files that may be larger than memory. */
export async function readRegular(path: string, maxBytes: number): Promise<Buffer | Unread> {
  return withRegular(path, async (handle, size) => {
    if (size > maxBytes) return 'too large'
    const chunks: Uint8Array[] = []
    for await (const chunk of chunksOf(handle, size)) chunks.push(chunk as Uint8Array)
    return Buffer.concat(chunks)
  })
}

/** SHA-256 in hex. */
export async function digestRegular(path: string): Promise<{ readonly sha256: string } | Unread> {
  return withRegular(path, async (handle, size) => {
    const hash = createHash('sha256')
    for await (const chunk of chunksOf(handle, size)) hash.update(chunk as Uint8Array)
    return { sha256: hash.digest('hex') }
  })
}

/** One byte more than the file had: a file that grows has another digest. */
function chunksOf(handle: FileHandle, size: number): ReadStream {
  return handle.createReadStream({ autoClose: false, end: size })
}

async function withRegular<T>(
  path: string,
  read: (handle: FileHandle, size: number) => Promise<T>,
): Promise<T | Unread> {
  let handle: FileHandle | undefined
  try {
    // Without O_NONBLOCK a pipe waits for a writer. Windows has neither flag, and no such files in a folder.
    handle = await open(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOFOLLOW ?? 0))
    const found = await handle.stat()
    return found.isFile() ? await read(handle, found.size) : 'not a regular file'
  } catch (error) {
    const code = errorCode(error) ?? ''
    if (code === 'ENOENT') return 'missing'
    // A link, and a socket.
    if (['ELOOP', 'EMLINK', 'ENXIO'].includes(code)) return 'not a regular file'
    throw error
  } finally {
    await handle?.close()
  }
}
