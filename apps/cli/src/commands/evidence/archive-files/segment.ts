import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import {
  SegmentChecker,
  entryOf,
  fromUtf8,
  readEventLine,
  segmentName,
  sha256Hex,
  lineShortcuts,
} from '@chancery/protocol'
import type { ArchiveSegment, ReadEvent, SegmentRefusal } from '@chancery/protocol'
import { errorCode } from '../../../files/files.ts'
import type { ArchiveFiles } from './files.ts'

/** A segment ends before it is larger, unless one line is. */
export const SEGMENT_TEXT_BYTES: number = 16 * 1024 * 1024
/** Few compressed bytes can decode to very many. The last line may be a checkpoint with 50,000 resources. */
const MAX_TEXT_BYTES = 128 * 1024 * 1024
const LINE_FEED = 10
const CARRIAGE_RETURN = 13

const compressBytes = promisify(zstdCompress)
const decompressBytes = promisify(zstdDecompress)

/** The same text gives the same bytes: no time, name or number of threads is in them. */
export async function compress(text: Uint8Array): Promise<Uint8Array> {
  return compressBytes(text, { params: { [constants.ZSTD_c_checksumFlag]: 1 } })
}

/** The lines of a segment as bytes, or why the file is not the one that the manifest names. */
export async function readSegment(files: ArchiveFiles, segment: ArchiveSegment): Promise<Uint8Array | SegmentRefusal> {
  // Only the tree hashes of a manifest are signed, so its sizes may be any.
  if (segment.bytes > MAX_TEXT_BYTES) return 'segment_invalid'
  const content = await files.read(segmentName(segment), segment.bytes)
  if (content === undefined) return 'segment_missing'
  if (content.length !== segment.bytes || sha256Hex(content) !== segment.digest) return 'segment_digest_mismatch'
  try {
    const text = await decompressBytes(content, { maxOutputLength: MAX_TEXT_BYTES })
    // A line of an entry has no such character, and readers of lines would leave it out.
    if (text.at(-1) !== LINE_FEED || text.includes(CARRIAGE_RETURN)) return 'segment_invalid'
    const lines = segment.last - segment.first + 1
    // Before they become values: millions of empty lines are few bytes.
    return countLines(text, lines) === lines ? text : 'segment_tree_mismatch'
  } catch (error) {
    const code = errorCode(error) ?? ''
    if (code.startsWith('ZSTD_') || code.startsWith('Z_') || code === 'ERR_BUFFER_TOO_LARGE') return 'segment_invalid'
    throw error
  }
}

/** Counts until there are more than expected. */
function countLines(text: Uint8Array, expected: number): number {
  let count = 0
  for (let at = text.indexOf(LINE_FEED); at >= 0 && count <= expected; at = text.indexOf(LINE_FEED, at + 1)) count += 1
  return count
}

export interface ProvenSegment {
  readonly events: readonly ReadEvent[]
  /** The digest of the last entry. */
  readonly head: string
}

/**
 * The selected entries of a segment, after all of its entries were compared with the manifest. Signatures of entries
 * are not verified.
 */
export async function readProvenSegment(
  files: ArchiveFiles,
  segment: ArchiveSegment,
  isWanted: (event: ReadEvent) => boolean,
): Promise<ProvenSegment | SegmentRefusal> {
  const text = await readSegment(files, segment)
  if (typeof text === 'string') return text
  const checker = new SegmentChecker(segment)
  const events: ReadEvent[] = []
  for (const line of (fromUtf8(text) ?? '').split('\n').slice(0, -1)) {
    const event = readEventLine(line, lineShortcuts)
    checker.take(entryOf(event))
    if (event !== undefined && isWanted(event)) events.push(event)
  }
  return checker.finish() ?? { events, head: checker.head ?? '' }
}
