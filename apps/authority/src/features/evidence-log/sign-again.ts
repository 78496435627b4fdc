import { openCheckpointByAny, writeSortable } from '@chancery/protocol'
import type { EvidenceLogParts } from './parts.ts'
import type { Transaction } from '../../database/database.ts'
import { statedOrigin } from './origin.ts'
import { findLog, storeCheckpoint } from './queries.ts'
import { signNote } from './sign-note.ts'

/** Signs the last checkpoint with the current key: the same size and root, so readers see the same log. */
export async function signCheckpointAgain(tx: Transaction, parts: EvidenceLogParts): Promise<void> {
  await tx.lock('evidence-anchors')
  const state = await findLog(tx.query)
  if (state === undefined) return
  const opened = await openCheckpointByAny(state.note, statedOrigin(state.note), parts.keys.all)
  if (opened === undefined) throw new Error('the last checkpoint of the evidence log is not signed by this authority')
  await storeCheckpoint(tx, state.size, await signNote(opened, parts), writeSortable(parts.clock.now()))
}
