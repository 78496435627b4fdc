import type { Feature } from '../../core.ts'
import type { Tx } from '../../database/database.ts'
import { LogWriter } from './log-writer.ts'
import type { EvidenceLogParts } from './parts.ts'
import { evidenceLogRoutes } from './routes.ts'
import { signCheckpointAgain } from './sign-again.ts'

export { findLogFault } from './continuity.ts'

export interface EvidenceLog extends Feature {
  /** Appends everything that the chain has and the log does not. */
  append(): Promise<void>
  signCheckpointAgain(tx: Tx): Promise<void>
}

export function openEvidenceLog(parts: EvidenceLogParts): EvidenceLog {
  const writer = new LogWriter()
  const append = async (): Promise<void> => {
    if (parts.settings.evidenceStore) await writer.grow(parts)
  }
  parts.evidence.subscribe({
    onAppended: (entries) => {
      // What was appended here need not be read again before it enters the log.
      writer.appended.keep(entries)
      writer.wake(parts)
    },
    beforeRemoval: append,
  })
  return {
    routes: evidenceLogRoutes(parts),
    // For entries that came while the log could not grow.
    jobs: [{ name: 'evidence-log', everySeconds: 60, run: append }],
    append,
    signCheckpointAgain: (tx) => signCheckpointAgain(tx, parts),
    close: () => writer.close(),
  }
}
