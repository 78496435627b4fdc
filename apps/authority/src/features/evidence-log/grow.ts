import { logOrigin, nodesFromTiles, openCheckpoint, signCheckpoint, treeRoot, writeSortable } from '@chancery/protocol'
import { faultPoint } from '#faults'
import type { Office } from '../../office.ts'
import { settleFault } from '../../signing/record-faults.ts'
import { mayMakeSignatures } from '../../signing/seal.ts'
import type { Tx } from '../../store/database.ts'
import { readEvidenceHead } from '../../store/evidence-chain.ts'
import type { AppendedLines } from './appended-lines.ts'
import { compareWithNote } from './continuity.ts'
import { GrowingTiles } from './growing-tiles.ts'
import { findLog, keepCheckpoint, readLeaves } from './store.ts'

/**
 * Brings the log up to the head of the store and signs what it is then. Entries enter in store order, each once: leaf
 * n is the digest of entry n + 1. One instance at a time; the tiles are kept with the checkpoint that covers them.
 */
export async function growLog(office: Office, appended: AppendedLines): Promise<void> {
  // A checkpoint below one that was published would look like a log that was cut.
  if (!mayMakeSignatures(office) || office.rollbackWatch.isEvidenceBehind) return
  for (;;) {
    const { isDone, through } = await office.store.transact(async (tx) => {
      await office.store.lockHead(tx, 'evidence-anchors')
      return growOnce(tx, office, appended)
    })
    appended.forget(through)
    if (isDone) return
  }
}

interface Growth {
  readonly isDone: boolean
  /** The last entry that is in the log now. */
  readonly through: number
}

async function growOnce(tx: Tx, office: Office, appended: AppendedLines): Promise<Growth> {
  const state = await findLog(tx)
  const size = state?.size ?? 0
  const { last_sequence } = await readEvidenceHead(tx)
  const isDone = state !== undefined && size >= last_sequence
  if (isDone && !office.recordFaults.has('evidenceLog')) return { isDone, through: size }
  const tiles = new GrowingTiles(tx, size)
  if (state !== undefined)
    settleFault(office.recordFaults, 'evidenceLog', await compareWithNote(state, office, (name) => tiles.read(name)))
  if (isDone) return { isDone, through: size }
  const leaves = await readLeaves(tx, { after: size, last: last_sequence }, appended)
  await tiles.add(leaves.map((digest) => Buffer.from(digest, 'hex')))
  await tiles.keep()
  faultPoint('log-tiles-stored')
  const root = await treeRoot(
    tiles.size,
    nodesFromTiles(tiles.size, (name) => tiles.read(name)),
  )
  const origin = logOrigin(office.genesis.network_name)
  const note = await signCheckpoint({ origin, size: tiles.size, root }, office.signer)
  if ((await openCheckpoint(note, origin, office.signer.publicKey)) === undefined)
    throw new Error('the signing key made a note that does not verify')
  await keepCheckpoint(tx, tiles.size, note, writeSortable(office.clock.now()))
  faultPoint('log-checkpoint-stored')
  return { isDone: tiles.size >= last_sequence, through: tiles.size }
}
