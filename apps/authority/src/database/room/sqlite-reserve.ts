import { randomFillSync } from 'node:crypto'
import { existsSync, statSync, statfsSync, truncateSync } from 'node:fs'
import { open, rename, rm, stat, statfs, truncate } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DiskFullError } from '../errors.ts'
import { LEAST_FREE_BYTES } from '../transaction.ts'
import { PARTS, PART_BYTES } from './disk-room.ts'
import type { FreeSpace, Part, PartState, Reserve, ReserveState } from './disk-room.ts'

/** Of a small disk the reserve takes no more than this part. */
const MOST_OF_DISK = 0.25
const CHUNK_BYTES = 1 << 20

const fileOf = (path: string, part: Part): string => `${path}.reserve-${part}`

/**
 * Two files in the folder of the database. A released one is empty, which differs from one that was never made. They have
 * random bytes: a file system that compresses would hold no space for zeros.
 */
export function sqliteReserve(path: string, isFull: Reserve['isFull']): Reserve {
  const measure = async (): Promise<FreeSpace> => {
    const { bavail, blocks, bsize } = await statfs(dirname(path))
    return { freeBytes: bavail * bsize, diskBytes: blocks * bsize }
  }
  const look = async (): Promise<ReserveState> => {
    const [service, revocations] = await Promise.all(PARTS.map((part) => stateOf(fileOf(path, part))))
    return { service: service ?? 'missing', revocations: revocations ?? 'missing' }
  }
  return {
    look,
    measure,
    isFull,
    release: (part) => truncate(fileOf(path, part), 0),
    reclaim: () => Promise.resolve(),
    async make(limitBytes, signal) {
      const { freeBytes, diskBytes } = await measure()
      const state = await look()
      const share = Math.min(1, (diskBytes * MOST_OF_DISK) / (PART_BYTES.service + PART_BYTES.revocations))
      const missing = PARTS.filter((part) => state[part] !== 'held')
      const sizes = new Map(missing.map((part) => [part, Math.floor(PART_BYTES[part] * share)]))
      const needed = [...sizes.values()].reduce((sum, size) => sum + size, 0)
      if (freeBytes < needed + limitBytes) throw new DiskFullError('there is no room for the reserve')
      for (const [part, size] of sizes) await writeReserve(fileOf(path, part), size, signal)
    },
  }
}

/**
 * SQLite needs room to open a database: its log and its index. On a disk without any the first part is released before.
 */
export function makeRoomToOpen(path: string): void {
  const file = fileOf(path, 'service')
  if (!existsSync(file) || statSync(file).size === 0) return
  const { bavail, bsize } = statfsSync(dirname(path))
  if (bavail * bsize < LEAST_FREE_BYTES) truncateSync(file, 0)
}

async function stateOf(file: string): Promise<PartState> {
  try {
    return (await stat(file)).size === 0 ? 'released' : 'held'
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 'missing'
    throw error
  }
}

/** Whole, or not there: a file under its name counts as held. */
async function writeReserve(file: string, size: number, signal: AbortSignal): Promise<void> {
  const unfinished = `${file}.unfinished`
  try {
    const handle = await open(unfinished, 'w', 0o600)
    try {
      const chunk = Buffer.alloc(CHUNK_BYTES)
      for (let written = 0; written < size && !signal.aborted; written += CHUNK_BYTES)
        await handle.write(randomFillSync(chunk), 0, Math.min(CHUNK_BYTES, size - written))
      if (signal.aborted) throw new DiskFullError('a write needed the room of the reserve')
      await handle.sync()
    } finally {
      await handle.close()
    }
    await rename(unfinished, file)
  } catch (error) {
    await rm(unfinished, { force: true })
    if ((error as NodeJS.ErrnoException).code === 'ENOSPC') throw new DiskFullError('there is no room for the reserve')
    throw error
  }
}
