import { evidenceLog } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import { checkpoint } from './checkpoint.ts'
import { cosigned } from './cosigned.ts'
import { describe } from './describe.ts'
import { entries } from './entries.ts'
import { receipt } from './receipt.ts'
import { tile } from './tile.ts'
import { witnesses } from './witnesses.ts'
import type { Feature } from '../../core.ts'
import type { Transaction } from '../../database/database.ts'
import { LogWriter } from './log-writer.ts'
import type { EvidenceLogParts } from './identity.ts'
import { signCheckpointAgain } from './continuity.ts'
import { countAlarms, findCosigned } from './witnesses/queries.ts'
import { WitnessRounds } from './witnesses/round.job.ts'

export { findLogFault } from './continuity.ts'
export { countAlarms as countWitnessAlarms, findCosigned }

export interface EvidenceLog extends Feature {
  /** Appends all entries of the chain that the log lacks. */
  append(): Promise<void>
  signCheckpointAgain(tx: Transaction): Promise<void>
  /** Asks the witnesses of the log that are due. */
  askWitnesses(): Promise<void>
}

export function openEvidenceLog(parts: EvidenceLogParts): EvidenceLog {
  const writer = new LogWriter()
  const rounds = new WitnessRounds(parts)
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
      bind(evidenceLog.describe, (call) => describe(call, parts)),
      bind(evidenceLog.checkpoint, (call) => checkpoint(call, parts)),
      bind(evidenceLog.cosigned, (call) => cosigned(call, parts)),
      bindRead(evidenceLog.tile, parts, (call, database) => tile(call, { ...parts, database })),
      bind(evidenceLog.entries, (call) => entries(call, parts)),
      bind(evidenceLog.receipt, (call) => receipt(call, parts)),
      bind(evidenceLog.witnesses, (call) => witnesses(call, parts)),
    ],
    // For entries that were appended while the log could not be extended.
    jobs: [
      { name: 'evidence-log', everySeconds: 60, run: append },
      ...(parts.settings.logWitnesses.length === 0
        ? []
        : [
            {
              name: 'evidence-log-witnesses',
              everySeconds: parts.settings.logWitnessSeconds,
              run: (signal: AbortSignal) => rounds.run(signal),
            },
          ]),
    ],
    append,
    signCheckpointAgain: (tx) => signCheckpointAgain(tx, parts),
    askWitnesses: () => rounds.run(new AbortController().signal),
    close: () => writer.close(),
  }
}
