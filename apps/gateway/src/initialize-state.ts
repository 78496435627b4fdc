import { writeInstant } from '@chancery/protocol'
import type { Clock, Ids } from '@chancery/service-kit'
import { ConfigurationRefused } from './policy/configuration-refused.ts'
import { loadConfiguration } from './policy/load-configuration.ts'
import type { GatewaySettings } from './settings.ts'
import { appendEvents } from './state/audit-log.ts'
import { writeCheckpoint } from './state/checkpoints.ts'
import { createStateFile, inTransaction } from './state/state-file.ts'
import { StateProblem } from './state/state-problem.ts'
import { ListDesk } from './trust/list-desk.ts'
import { establishOrRefuse } from './trust/open-trust.ts'
import { operatorEvent } from './trust/trust-book.ts'

/** `--init-state`: new durable state from the verified policy, once per replica and by a person (protocol/gateway 18.3). */
export async function initializeState(
  settings: GatewaySettings,
  tools: { readonly clock: Clock; readonly ids: Ids },
): Promise<void> {
  const { stateFile } = settings
  if (stateFile === undefined) throw new StateProblem('is required with --init-state')
  const { configuration, problems } = loadConfiguration(settings, tools.clock.now())
  if (configuration === undefined) throw new ConfigurationRefused(problems)
  const desk = new ListDesk()
  try {
    const known = async (): Promise<undefined> => undefined
    const { changes } = await establishOrRefuse(configuration.policy, known, desk, tools.clock)
    createStateFile(stateFile, (db) => {
      inTransaction(db, () => {
        for (const { standing } of changes) {
          const { network, issuer } = standing.policy
          const { sequence, issuedAt } = standing.mark
          const body = Buffer.from(standing.body).toString('utf8')
          const checkpoint = { network, issuer, sequence, issued_at: writeInstant(issuedAt), body }
          writeCheckpoint(db, { ...checkpoint, gained: [], lost: [] })
          appendEvents(db, [operatorEvent('crl_installed', { network, issuer, list_sequence: sequence }, tools)])
        }
      })
    })
  } finally {
    await desk.close()
  }
}
