import type { FileHandle } from 'node:fs/promises'
import { fromUtf8, joinBytes, readEventLine } from '@chancery/protocol'
import { CommandError } from '../../errors/failure.ts'

const BLOCK_BYTES = 256 * 1024
const LINE_FEED = 10

/** Where the whole lines of an export end, and the sequence of the last one; both 0 for a file without a whole line. */
export interface ExportEnd {
  readonly bytes: number
  readonly sequence: number
}

/** Reads the file from its end, only as far as its last whole line. */
export async function findExportEnd(handle: FileHandle, name: string): Promise<ExportEnd> {
  const { size } = await handle.stat()
  let tail = new Uint8Array()
  for (let start = size; ;) {
    const end = tail.lastIndexOf(LINE_FEED)
    const before = end < 1 ? -1 : tail.lastIndexOf(LINE_FEED, end - 1)
    if (end >= 0 && (before >= 0 || start === 0)) {
      const event = readEventLine(fromUtf8(tail.subarray(before + 1, end)) ?? '')
      if (event === undefined) throw notAnExport(name)
      return { bytes: start + end + 1, sequence: event.entry.store_sequence }
    }
    if (start === 0) return { bytes: 0, sequence: 0 }
    const length = Math.min(BLOCK_BYTES, start)
    start -= length
    const { buffer, bytesRead } = await handle.read({ buffer: new Uint8Array(length), position: start })
    if (bytesRead !== length) throw notAnExport(name)
    tail = joinBytes([buffer, tail])
  }
}

function notAnExport(name: string): CommandError {
  return new CommandError({
    code: 'invalid_record',
    message: `${name} does not end with an entry of an evidence export.`,
    hint: 'Give the file of an export that was interrupted, or export to a new file.',
  })
}
