import { logOrigin, openCheckpoint, signCheckpoint, writeSortable } from '@chancery/protocol'
import type { Office } from '../../office.ts'
import type { Tx } from '../../store/database.ts'
import { findLog, keepCheckpoint } from './store.ts'

/** The last checkpoint under the present key: the same size and root, so no reader sees another log. */
export async function signCheckpointAgain(tx: Tx, office: Office): Promise<void> {
  await office.store.lockHead(tx, 'evidence-anchors')
  const state = await findLog(tx)
  if (state === undefined) return
  const origin = logOrigin(office.genesis.network_name)
  for (const key of office.ownKeys.all) {
    const opened = await openCheckpoint(state.note, origin, key)
    if (opened === undefined) continue
    const note = await signCheckpoint({ origin, size: opened.size, root: opened.root }, office.signer)
    if ((await openCheckpoint(note, origin, office.signer.publicKey)) === undefined)
      throw new Error('the signing key made a note that does not verify')
    await keepCheckpoint(tx, state.size, note, writeSortable(office.clock.now()))
    return
  }
  throw new Error('the last checkpoint of the evidence log is not signed by this authority')
}
