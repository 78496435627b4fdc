import { logOrigin, nodesFromTiles, openCheckpoint, signCheckpoint, treeRoot, writeSortable } from '@chancery/protocol'
import { faultPoint } from '#faults'
import type { EvidenceLogParts } from './parts.ts'
import { clearFault } from '../../signing/record-faults.ts'
import type { Transaction } from '../../database/database.ts'
import { readEvidenceHead } from '../evidence/index.ts'
import type { RecentEntries } from './recent-entries.ts'
import { compareWithNote } from './continuity.ts'
import { TileWriter } from './tile-writer.ts'
import { findLog, storeCheckpoint, readLeaves } from './queries.ts'

/**
 * Appends entries of the store to the log and signs the new state. Entries are appended in store order, each once: leaf
 * n is the digest of entry n + 1. One instance at a time; the tiles are stored with the checkpoint that covers them.
 */
export async function appendToLog(parts: EvidenceLogParts, appended: RecentEntries): Promise<void> {
  // A checkpoint smaller than a published one would appear as a truncated log.
  if (!parts.signing.isAllowed() || parts.rollback.isEvidenceBehind) return
  for (;;) {
    const { isDone, through } = await parts.database.write(async (tx) => {
      await tx.lock('evidence-anchors')
      return growOnce(tx, parts, appended)
    })
    appended.drop(through)
    if (isDone) return
  }
}

interface Growth {
  readonly isDone: boolean
  /** The last entry in the log now. */
  readonly through: number
}

async function growOnce(tx: Transaction, parts: EvidenceLogParts, appended: RecentEntries): Promise<Growth> {
  const state = await findLog(tx.query)
  const size = state?.size ?? 0
  const { last_sequence } = await readEvidenceHead(tx.query)
  const isDone = state !== undefined && size >= last_sequence
  if (isDone && !parts.recordFaults.has('evidenceLog')) return { isDone, through: size }
  const tiles = new TileWriter(tx.query, size)
  if (state !== undefined)
    clearFault(parts.recordFaults, 'evidenceLog', await compareWithNote(state, parts, (name) => tiles.read(name)))
  if (isDone) return { isDone, through: size }
  const leaves = await readLeaves(tx.query, { after: size, last: last_sequence }, appended)
  await tiles.add(leaves.map((digest) => Buffer.from(digest, 'hex')))
  await tiles.write(tx)
  faultPoint('log-tiles-stored')
  const root = await treeRoot(
    tiles.size,
    nodesFromTiles(tiles.size, (name) => tiles.read(name)),
  )
  const origin = logOrigin(parts.network.name)
  const note = await signCheckpoint({ origin, size: tiles.size, root }, parts.signing.signer)
  if ((await openCheckpoint(note, origin, parts.signing.publicKey)) === undefined)
    throw new Error('the signing key produced a note that does not verify')
  await storeCheckpoint(tx, tiles.size, note, writeSortable(parts.clock.now()))
  faultPoint('log-checkpoint-stored')
  return { isDone: tiles.size >= last_sequence, through: tiles.size }
}
