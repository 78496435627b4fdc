import { fromHex } from '../canonical/hex.ts'
import { TreeRange } from '../evidence-log/tree-range.ts'
import { hashLeaf } from '../evidence-log/tree.ts'
import type { ReadEvent } from '../evidence/read-event.ts'
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
