import { constants } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { errorCode } from './files.ts'

/** The problem of a file that is not opened. */
export type Unopened = 'missing' | 'not a regular file'

/**
 * Opens a file of a folder that anyone can have made. A pipe, a socket or a device is never waited for, and no link is
 * followed with `refuse`.
 */
export async function withRegularFile<T>(
  path: string,
  links: 'follow' | 'refuse',
  read: (handle: FileHandle, size: number) => Promise<T>,
): Promise<T | Unopened> {
  let handle: FileHandle | undefined
  try {
    handle = await open(path, flagsFor(links))
    const found = await handle.stat()
    return found.isFile() ? await read(handle, found.size) : 'not a regular file'
  } catch (error) {
    const code = errorCode(error) ?? ''
    if (code === 'ENOENT') return 'missing'
    if (code === 'ENXIO' || (links === 'refuse' && ['ELOOP', 'EMLINK'].includes(code))) return 'not a regular file'
    throw error
  } finally {
    await handle?.close()
  }
}

/** Without O_NONBLOCK a pipe waits for a writer. Windows has neither flag, and no such files in a folder. */
function flagsFor(links: 'follow' | 'refuse'): number {
  const noLinks = links === 'refuse' ? (constants.O_NOFOLLOW ?? 0) : 0
  return constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | noLinks
}
