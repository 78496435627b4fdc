import { execFile } from 'node:child_process'
import { chmod, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const BLOCK = Buffer.alloc(1 << 16)

/** A file system of a few megabytes in memory, which a campaign can fill to the last byte. Needs root. */
export interface SmallDisk {
  readonly folder: string
  /** Writes until a write fails with ENOSPC. */
  fill(): Promise<void>
  /** Removes what `fill` wrote. */
  free(): Promise<void>
  /** Makes it larger, as an operator does when the data itself fills it. */
  enlarge(megabytes: number): Promise<void>
  remove(): Promise<void>
}

export async function mountSmallDisk(megabytes: number): Promise<SmallDisk> {
  const folder = await mkdtemp(join(tmpdir(), 'chancery-disk-'))
  await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', folder])
  // PostgreSQL runs as another user and must be able to enter this folder.
  await chmod(folder, 0o755)
  const filler = join(folder, 'filler')
  return {
    folder,
    async fill() {
      const file = await open(filler, 'a')
      try {
        // Writes blocks first, then single bytes for the rest of the last page.
        for (const piece of [BLOCK, BLOCK.subarray(0, 4096), BLOCK.subarray(0, 1)]) {
          let isRoom = true
          while (isRoom) isRoom = await fits(() => file.appendFile(piece))
        }
      } finally {
        await file.close()
      }
    },
    free: () => rm(filler, { force: true }),
    async enlarge(size) {
      await run('mount', ['-o', `remount,size=${size}m`, folder])
    },
    async remove() {
      await run('umount', ['-l', folder])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

async function fits(write: () => Promise<void>): Promise<boolean> {
  try {
    await write()
    return true
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC') return false
    throw error
  }
}
