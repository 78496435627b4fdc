import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { joinBytes } from '@chancery/protocol'
import type { StoreChecker } from '@chancery/protocol'
import { toFailure } from '../../files/files.ts'
import type { AuditKeys } from './audit-keys.ts'
import type { ExaminedLines } from './audit-thread.ts'
import { AuditThreads } from './audit-threads.ts'

const BLOCK_BYTES = 256 * 1024
const LINE_FEED = 10
/** Blocks in flight for each thread: one is processed, one waits. */
const AHEAD = 2

/**
 * Verifies a file: threads verify the lines, and the checker compares them with their neighbours here, in order. Only a
 * few blocks are in memory at once.
 */
export async function auditFile(
  path: string,
  checker: StoreChecker,
  keys: AuditKeys,
  update: (share: number) => void,
): Promise<void> {
  const handle = await open(path).catch((error: unknown) => {
    throw toFailure(error, path, 'read')
  })
  const threads = new AuditThreads(keys)
  try {
    const { size } = await handle.stat()
    const pending: Promise<ExaminedLines>[] = []
    const takeNext = async (): Promise<void> => {
      for (const line of (await pending.shift()) ?? []) checker.take(line ?? undefined)
    }
    let read = 0
    for await (const block of readBlocks(handle)) {
      read += block.length
      const examined = threads.examine(block)
      // The promise may fail while an earlier one is awaited; the caller that awaits it receives the error.
      examined.catch(() => undefined)
      pending.push(examined)
      if (pending.length >= threads.size * AHEAD) await takeNext()
      update(read / Math.max(size, 1))
    }
    while (pending.length > 0) await takeNext()
  } finally {
    await threads.close()
    await handle.close()
  }
}

/** Returns blocks of whole lines; a line that is longer than a block is one block. */
async function* readBlocks(handle: FileHandle): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  let saved: Uint8Array[] = []
  for (;;) {
    const { bytesRead, buffer } = await handle.read({ buffer: new Uint8Array(BLOCK_BYTES), position: null })
    const bytes = buffer.subarray(0, bytesRead)
    const end = bytes.lastIndexOf(LINE_FEED) + 1
    if (end > 0) {
      yield joinBytes([...saved, bytes.subarray(0, end)])
      saved = []
    }
    if (end < bytes.length) saved.push(bytes.subarray(end))
    if (bytesRead === 0) break
  }
  if (saved.length > 0) yield joinBytes(saved)
}
