import { SegmentChecker, StoreChecker, segmentName } from '@chancery/protocol'
import type {
  AnchorChecker,
  ArchiveEnd,
  ArchiveSegment,
  ArchiveTrust,
  StoreKeys,
  StoreReport,
} from '@chancery/protocol'
import type { ExaminedLines } from '../audit-thread.ts'
import type { ArchiveFiles } from './files.ts'
import { type ArchiveFinding, openArchive, readSegment } from './read.ts'

const BLOCK_BYTES = 256 * 1024
const LINE_FEED = 10

export interface ArchiveAudit {
  readonly trust: ArchiveTrust
  readonly keys: StoreKeys
  readonly anchors: AnchorChecker
  /** Verifies complete lines one by one, in any thread. */
  readonly examine: (block: Uint8Array<ArrayBuffer>) => Promise<ExaminedLines>
  /** Blocks that may be examined at once. */
  readonly blocks: number
  update(checked: number, share: number): void
}

export interface ArchiveReport {
  readonly findings: readonly ArchiveFinding[]
  readonly store: StoreReport
  readonly first: number
  readonly last: number
  readonly segments: number
  readonly otherFiles: readonly string[]
  /** Undefined for an archive without a readable last entry. */
  readonly end: ArchiveEnd | undefined
}

/**
 * Verifies an archive without the authority: that the segments are exactly the entries of the signed log, and every
 * digest, link, envelope and signature of these entries.
 */
export async function verifyArchive(files: ArchiveFiles, audit: ArchiveAudit): Promise<ArchiveReport> {
  const { chain, finding, otherFiles } = await openArchive(files, audit.trust)
  const findings: ArchiveFinding[] = finding === undefined ? [] : [finding]
  const { boundary, anchors, keys } = { ...audit, boundary: chain.boundary }
  const store = new StoreChecker({ keys, scope: 'store', boundary, anchors })
  let head: string | undefined
  for (const [at, segment] of chain.segments.entries()) {
    const checked = await verifySegment(files, segment, store, audit)
    head = checked.head
    if (checked.reason !== undefined) findings.push({ file: segmentName(segment), reason: checked.reason })
    audit.update(store.checked, (at + 1) / chain.segments.length)
  }
  const { checkpoint, first, last, segments } = chain
  // The last manifest of a run covers all entries of its checkpoint.
  if (finding === undefined && (checkpoint === undefined || last < checkpoint.size))
    findings.push({ file: 'manifests', reason: checkpoint === undefined ? 'manifest_missing' : 'archive_incomplete' })
  const end = head === undefined || checkpoint === undefined ? undefined : { last, head, checkpoint }
  return { findings, store: await store.finish(), first, last, segments: segments.length, otherFiles, end }
}

interface CheckedSegment {
  readonly reason: ArchiveFinding['reason'] | undefined
  readonly head: string | undefined
}

async function verifySegment(
  files: ArchiveFiles,
  segment: ArchiveSegment,
  store: StoreChecker,
  { examine, blocks }: ArchiveAudit,
): Promise<CheckedSegment> {
  const text = await readSegment(files, segment)
  if (typeof text === 'string') return { reason: text, head: undefined }
  const checker = new SegmentChecker(segment)
  const pending: Promise<ExaminedLines>[] = []
  const takeNext = async (): Promise<void> => {
    for (const line of (await pending.shift()) ?? []) {
      store.take(line ?? undefined)
      checker.take(line === null ? undefined : { sequence: line.entry.store_sequence, digest: line.digest })
    }
  }
  for (const block of splitBlocks(text)) {
    const examined = examine(block)
    // The promise may fail while an earlier one is awaited; the caller that awaits it receives the error.
    examined.catch(() => undefined)
    pending.push(examined)
    if (pending.length >= blocks) await takeNext()
  }
  while (pending.length > 0) await takeNext()
  return { reason: checker.finish(), head: checker.head }
}

/** Blocks of whole lines, each a copy that can be sent to a thread. */
function* splitBlocks(text: Uint8Array): Generator<Uint8Array<ArrayBuffer>> {
  for (let start = 0; start < text.length;) {
    const full = start + BLOCK_BYTES >= text.length ? text.length - 1 : text.indexOf(LINE_FEED, start + BLOCK_BYTES)
    const end = (full < 0 ? text.length - 1 : full) + 1
    yield new Uint8Array(text.subarray(start, end))
    start = end
  }
}
