import { logOrigin, nodesFromTiles, openCheckpoint, signCheckpoint, treeRoot, writeSortable } from '@chancery/protocol'
import { faultPoint } from '#faults'
import type { Office } from '../../office.ts'
import { mayMakeSignatures } from '../../signing/seal.ts'
import type { Tx } from '../../store/database.ts'
import { readEvidenceHead } from '../../store/evidence-chain.ts'
import { GrowingTiles } from './growing-tiles.ts'
import { findLog, keepCheckpoint, readLeaves } from './store.ts'

/** Leaves of one transaction, each read again from its line, which takes milliseconds; more wait for the next. */
const MAX_LEAVES = 256

/**
 * Brings the log up to the head of the store and signs what it is then. Entries enter in store order, each once: leaf
 * n is the digest of entry n + 1. One instance at a time; the tiles are kept with the checkpoint that covers them.
 */
export async function growLog(office: Office): Promise<void> {
  if (!mayMakeSignatures(office)) return
  for (;;) {
    const isDone = await office.store.transact(async (tx) => {
      await office.store.lockHead(tx, 'evidence-anchors')
      return growOnce(tx, office)
    })
    if (isDone) return
  }
}

async function growOnce(tx: Tx, office: Office): Promise<boolean> {
  const state = await findLog(tx)
  const size = state?.size ?? 0
  const { last_sequence } = await readEvidenceHead(tx)
  if (state !== undefined && size >= last_sequence) return true
  const tiles = new GrowingTiles(tx, size)
  const run = { after: size, through: Math.min(size + MAX_LEAVES, last_sequence) }
  for (const digest of await readLeaves(tx, run)) await tiles.add(Buffer.from(digest, 'hex'))
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
  return tiles.size >= last_sequence
}
