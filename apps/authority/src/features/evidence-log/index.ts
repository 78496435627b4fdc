import { evidenceLog } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { checkpoint } from './checkpoint.ts'
import { entries } from './entries.ts'
import { tile } from './tile.ts'
import type { Feature } from '../../core.ts'
import type { Transaction } from '../../database/database.ts'
import { LogWriter } from './log-writer.ts'
import type { EvidenceLogParts } from './parts.ts'
import { signCheckpointAgain } from './sign-again.ts'

export { findLogFault } from './continuity.ts'

export interface EvidenceLog extends Feature {
  /** Appends all entries of the chain that the log lacks. */
  append(): Promise<void>
  signCheckpointAgain(tx: Transaction): Promise<void>
}

export function openEvidenceLog(parts: EvidenceLogParts): EvidenceLog {
  const writer = new LogWriter()
  const append = async (): Promise<void> => {
    if (parts.settings.evidenceStore) await writer.grow(parts)
  }
  parts.evidence.subscribe({
    onAppended: (added) => {
      // Entries appended by this process need not be read again before they enter the log.
      writer.appended.add(added)
      writer.schedule(parts)
    },
    beforeRemoval: append,
  })
  return {
    routes: [
      bind(evidenceLog.checkpoint, (call) => checkpoint(call, parts)),
      bind(evidenceLog.tile, (call) => tile(call, parts)),
      bind(evidenceLog.entries, (call) => entries(call, parts)),
    ],
    // For entries that were appended while the log could not be extended.
    jobs: [{ name: 'evidence-log', everySeconds: 60, run: append }],
    append,
    signCheckpointAgain: (tx) => signCheckpointAgain(tx, parts),
    close: () => writer.close(),
  }
}
