import { existsSync } from 'node:fs'
import { writeInstant } from '@chancery/protocol'
import type { Clock, Ids } from '@chancery/service-kit'
import { ConfigurationError } from '../policy/load-files.ts'
import { loadConfiguration } from '../policy/load-configuration.ts'
import type { GatewaySettings } from '../settings/gateway-settings.ts'
import { appendEvents } from '../state/audit-log.ts'
import { writeCheckpoint } from '../state/checkpoints.ts'
import { createStateFile, inTransaction } from '../state/state-file.ts'
import { proofMarkFile, writeProofMark } from '../quota/quota.ts'
import { StateError } from '../state/state-values.ts'
import { ListWorker } from '../trust/list-worker.ts'
import { loadListsOrThrow } from '../trust/open-trust.ts'
import { operatorEvent } from '../audit/request-audit.ts'

/**
 * `--init-state`: creates durable state from the verified policy, once per replica and by an operator (protocol/gateway
 * 18.3).
 */
export async function initializeState(
  settings: GatewaySettings,
  tools: { readonly clock: Clock; readonly ids: Ids },
): Promise<void> {
  const { stateFile } = settings
  if (stateFile === undefined) throw new StateError('is required with --init-state')
  const { configuration, problems } = loadConfiguration(settings, tools.clock.now())
  if (configuration === undefined) throw new ConfigurationError(problems)
  const listWorker = new ListWorker()
  try {
    const stored = async (): Promise<undefined> => undefined
    const { changes } = await loadListsOrThrow(configuration.policy, stored, listWorker, tools.clock)
    createStateFile(stateFile, (db) => {
      inTransaction(db, () => {
        for (const { issuerState } of changes) {
          const { network, issuer } = issuerState.policy
          const { sequence, issuedAt } = issuerState.position
          const body = Buffer.from(issuerState.body).toString('utf8')
          const checkpoint = { network, issuer, sequence, issued_at: writeInstant(issuedAt), body }
          writeCheckpoint(db, { ...checkpoint, gained: [], lost: [] })
          const event = operatorEvent('crl_installed', { network, issuer, list_sequence: sequence }, tools)
          appendEvents(db, [event], settings.auditUrl !== undefined)
        }
      })
    })
    // A new state has no spent proofs, so the first start need not wait as after a loss. A mark of an earlier state stays.
    const mark = proofMarkFile(stateFile)
    if (!existsSync(mark)) await writeProofMark(mark, tools.clock.now())
  } finally {
    await listWorker.close()
  }
}
