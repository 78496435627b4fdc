import type { LogCheckpoint } from '../evidence-log/note.ts'
import { type NodeReader, consistencyProof, hashLeaf, verifyConsistency } from '../evidence-log/tree.ts'
import { type ReadEvent, readEventLine } from '../evidence/read-event.ts'
import { fromHex } from '../canonical/digest.ts'
import { TreeRange } from '../evidence-log/tree-range.ts'
import { type ArchiveSegment, writeHashes } from './manifest.ts'

export type SegmentRefusal =
  | 'segment_missing'
  /** The bytes are not those that the manifest names. */
  | 'segment_digest_mismatch'
  /** It cannot be decompressed, or is not lines of entries. */
  | 'segment_invalid'
  /** Its entries are not those of the log at this place. */
  | 'segment_tree_mismatch'

/** Compares the entries of a segment, one after another, with the hashes that its manifest has for it. */
export class SegmentChecker {
  readonly #segment: ArchiveSegment
  readonly #range: TreeRange
  #isInOrder = true
  #last: string | undefined

  constructor(segment: ArchiveSegment) {
    this.#segment = segment
    this.#range = new TreeRange(segment.first - 1)
  }

  /** The next entry; undefined for a line that is none, or whose digests are wrong. */
  take(entry: { readonly sequence: number; readonly digest: string } | undefined): void {
    const leaf = entry === undefined ? undefined : fromHex(entry.digest)
    this.#isInOrder &&= leaf !== undefined && entry?.sequence === this.#range.end + 1
    if (leaf !== undefined) this.#range.addLeaf(hashLeaf(leaf))
    this.#last = entry?.digest
  }

  /** The digest of the last entry. */
  get head(): string | undefined {
    return this.#last
  }

  /** Undefined when the entries are exactly those that the manifest names. */
  finish(): 'segment_tree_mismatch' | undefined {
    const { last, tree } = this.#segment
    const found = writeHashes(this.#range.hashes)
    const isSame = found.length === tree.length && found.every((hash, at) => hash === tree[at])
    return this.#isInOrder && this.#range.end === last && isSame ? undefined : 'segment_tree_mismatch'
  }
}

/** The place and digest of a line whose digests are right; undefined for any other. Signatures are not verified. */
export function entryOf(event: ReadEvent | undefined): { sequence: number; digest: string } | undefined {
  if (event?.canonical !== true || event.claimedDigest !== event.entryDigest) return undefined
  if (event.entry.payload_digest !== event.payloadDigest) return undefined
  return { sequence: event.entry.store_sequence, digest: event.entryDigest }
}

/** The end of a verified archive. */
export interface ArchiveEnd {
  readonly last: number
  /** The digest of the last entry. */
  readonly head: string
  readonly checkpoint: LogCheckpoint
}

/** What the living store shows of the same place. */
export interface LivingStore {
  /** Signed by the authority; the caller verified it. */
  readonly checkpoint: LogCheckpoint
  readonly read: NodeReader
  /** The first two lines that the store still has from the last archived entry on. */
  readonly lines: readonly string[]
  readonly lastSequence: number
}

export type StoreDifference =
  /** The living log is shorter than the archived one: it was rolled back. */
  | 'store_behind_archive'
  /** The living log does not continue the archived one. */
  | 'other_history'
  /** Entries after the archive were removed from the store: they are in neither. */
  | 'entries_missing'
  /** The living entry after the archive does not name the last archived one, or the store has another one there. */
  | 'heads_differ'

export interface StoreComparison {
  readonly difference: StoreDifference | undefined
  /** Entries that only the living store has. An archive is current when there are none. */
  readonly entriesAfter: number
}

/** Compares an archive with the store that it was written from. */
export async function compareWithStore(archive: ArchiveEnd, store: LivingStore): Promise<StoreComparison> {
  const entriesAfter = Math.max(store.checkpoint.size, store.lastSequence, archive.last) - archive.last
  return { difference: await findDifference(archive, store), entriesAfter }
}

async function findDifference(
  { last, head, checkpoint }: ArchiveEnd,
  store: LivingStore,
): Promise<StoreDifference | undefined> {
  const [older, newer] = [checkpoint.size, store.checkpoint.size]
  if (newer < older || store.lastSequence < last) return 'store_behind_archive'
  const proof = await consistencyProof(older, newer, store.read)
  if (!verifyConsistency({ older, newer, olderRoot: checkpoint.root, newerRoot: store.checkpoint.root, proof }))
    return 'other_history'
  let previous: string | null = head
  let expected = last
  for (const [at, line] of store.lines.entries()) {
    const event = readEventLine(line)
    const entry = entryOf(event)
    if (entry === undefined || event === undefined) return 'heads_differ'
    // Retention may have removed the last archived entry from the store, and none after it.
    if (at === 0 && entry.sequence === last + 1) expected = last + 1
    if (entry.sequence !== expected) return entry.sequence > expected ? 'entries_missing' : 'heads_differ'
    if (entry.sequence === last ? entry.digest !== head : event.entry.prev_entry_digest !== previous)
      return 'heads_differ'
    previous = entry.digest
    expected += 1
  }
  return store.lines.length === 0 ? 'heads_differ' : undefined
}
