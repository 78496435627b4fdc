import type { LogCheckpoint } from '../evidence-log/note.ts'
import { type NodeReader, consistencyProof } from '../evidence-log/tree.ts'
import { verifyConsistency } from '../evidence-log/verify-proof.ts'
import { readEventLine } from '../evidence/read-event.ts'
import { entryOf } from './check-segment.ts'

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
