import { logOrigin, openCheckpoint, signCheckpoint, writeSortable } from '@chancery/protocol'
import type { EvidenceLogParts } from './parts.ts'
import type { Transaction } from '../../database/database.ts'
import { findLog, storeCheckpoint } from './queries.ts'

/** Signs the last checkpoint with the current key: the same size and root, so readers see the same log. */
export async function signCheckpointAgain(tx: Transaction, parts: EvidenceLogParts): Promise<void> {
  await tx.lock('evidence-anchors')
  const state = await findLog(tx.query)
  if (state === undefined) return
  const origin = logOrigin(parts.network.name)
  for (const key of parts.keys.all) {
    const opened = await openCheckpoint(state.note, origin, key)
    if (opened === undefined) continue
    const note = await signCheckpoint({ origin, size: opened.size, root: opened.root }, parts.signing.signer)
    if ((await openCheckpoint(note, origin, parts.signing.publicKey)) === undefined)
      throw new Error('the signing key produced a note that does not verify')
    await storeCheckpoint(tx, state.size, note, writeSortable(parts.clock.now()))
    return
  }
  throw new Error('the last checkpoint of the evidence log is not signed by this authority')
}
