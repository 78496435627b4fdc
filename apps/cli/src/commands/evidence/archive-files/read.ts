import {
  ArchiveChain,
  SegmentChecker,
  compareWithStore,
  entryOf,
  fromUtf8,
  lineShortcuts,
  manifestName,
  readEventLine,
  segmentName,
  sha256Hex,
} from '@chancery/protocol'
import type {
  ArchiveEnd,
  ArchiveSegment,
  ArchiveTrust,
  ManifestRefusal,
  ReadEvent,
  SegmentRefusal,
  StoreComparison,
  StoreDifference,
} from '@chancery/protocol'
import { CommandError } from '../../../errors/failure.ts'
import type { ArchiveFiles } from './files.ts'
import type { Connection } from '../../../connection/connection.ts'
import { fetchCheckpoint, treeOf } from '../witnesses.ts'
import { promisify } from 'node:util'
import { constants, zstdCompress, zstdDecompress } from 'node:zlib'
import { errorCode } from '../../../files/files.ts'

/** Compares a verified archive with the store of the running authority. */
export async function compareWithLiving(connection: Connection, archive: ArchiveEnd): Promise<StoreComparison> {
  const checkpoint = await fetchCheckpoint(connection)
  return connection.ask(async (client) => {
    const lines = await client.evidence.lines(archive.last - 1, 2)
    const { last_store_sequence: last } = await client.evidence.status()
    const lastSequence = last ?? 0
    return compareWithStore(archive, { checkpoint, read: treeOf(client, checkpoint.size), lines, lastSequence })
  })
}

/** Far more than the boundary of 50,000 resources and the segments of one run need. */
const MAX_MANIFEST_BYTES = 64 * 1024 * 1024
const MANIFEST = /^manifests\/(\d{8})\.json$/

/** One broken rule, and the file where it was found. */
export type ArchiveFinding = {
  readonly file: string
  readonly reason: ManifestRefusal | SegmentRefusal | StoreDifference | 'manifest_missing' | 'archive_incomplete'
}

export interface OpenArchive {
  readonly chain: ArchiveChain
  /** Why the manifests after those of the chain were not read. */
  readonly finding: ArchiveFinding | undefined
  /** Files that no manifest names: of an interrupted run, or of another source. */
  readonly otherFiles: readonly string[]
}

/** Reads and checks all manifests, from the first one on. Segments are not read. */
export async function openArchive(files: ArchiveFiles, trust: ArchiveTrust): Promise<OpenArchive> {
  const names = await files.list()
  // Not as arguments of one call: a folder may have any number of files.
  const last = names.reduce((most, name) => Math.max(most, Number(MANIFEST.exec(name)?.[1] ?? 0)), 0)
  const chain = new ArchiveChain(trust)
  let finding: ArchiveFinding | undefined
  for (let number = 1; number <= last && finding === undefined; number += 1) {
    const file = manifestName(number)
    const content = await files.read(file, MAX_MANIFEST_BYTES)
    const reason = content === undefined ? 'manifest_missing' : await chain.add(fromUtf8(content) ?? '')
    if (reason !== undefined) finding = { file, reason }
  }
  const known = new Set(chain.segments.map(segmentName))
  for (let number = 1; number <= chain.number; number += 1) known.add(manifestName(number))
  return { chain, finding, otherFiles: names.filter((name) => !known.has(name) && name !== finding?.file) }
}

/** Opens an archive to use its entries or to add to it: every manifest must be valid. */
export async function openValidArchive(files: ArchiveFiles, trust: ArchiveTrust, name: string): Promise<ArchiveChain> {
  const { chain, finding } = await openArchive(files, trust)
  if (finding !== undefined) throw brokenArchive(name, finding)
  return chain
}

export function brokenArchive(name: string, { file, reason }: ArchiveFinding): CommandError {
  return new CommandError({
    code: 'invalid_archive',
    message: `${name} is not a valid archive: ${file} (${reason}).`,
    hint: `See: chancery verify ${name}`,
  })
}

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

/**
 * The last entry of an archive that has every entry of the living store up to it. Segments are read from the first
 * living entry on: what was removed before is not removed again.
 */
export async function findProvenEnd(
  connection: Connection,
  files: ArchiveFiles,
  chain: ArchiveChain,
  name: string,
): Promise<number> {
  const { retention_checkpoint: removed } = await connection.ask((client) => client.evidence.status())
  const removedThrough = removed ?? 0
  let head: string | undefined
  for (const segment of chain.segments) {
    if (segment.last <= removedThrough && segment.last !== chain.last) continue
    const proven = await readProvenSegment(files, segment, () => false)
    if (typeof proven === 'string') throw brokenArchive(name, { file: segmentName(segment), reason: proven })
    head = proven.head
  }
  if (head === undefined || chain.checkpoint === undefined)
    throw brokenArchive(name, { file: 'manifests', reason: 'manifest_missing' })
  const end = { last: chain.last, head, checkpoint: chain.checkpoint }
  const { difference } = await compareWithLiving(connection, end)
  if (difference === undefined && chain.first <= removedThrough + 1) return chain.last
  throw new CommandError({
    code: 'archive_differs',
    message: `${name} does not have the entries of the store (${difference ?? 'entries_missing'}). Nothing was removed.`,
    hint: 'Archive the store first: chancery evidence export --archive <folder>',
  })
}
