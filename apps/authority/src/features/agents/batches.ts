import { writeSortable } from '@chancery/protocol'
import { Batcher, type Clock } from '@chancery/service-kit'
import { AdaptiveCount } from '../../database/cached-count.ts'
import type { Database } from '../../database/database.ts'
import { isLargeTable } from '../../database/large-table.ts'
import { type RegistrationOutcome, type RegistrationRow, registerAgents } from './queries/registrations.ts'
import { countAgents } from './queries/agents.ts'

/** Queue of registrations for the next transaction, and the public count of agents. */
export interface AgentBatches {
  readonly registrations: Batcher<RegistrationRow, RegistrationOutcome>
  readonly count: AdaptiveCount
  close(): Promise<void>
}

export function openAgentBatches(database: Database, clock: Clock): AgentBatches {
  const now = (): string => writeSortable(clock.now())
  const registrations = new Batcher<RegistrationRow, RegistrationOutcome>(
    async (rows) => [...(await registerAgents(database, rows, now()))],
    { maxItems: 200, maxWaiting: 5000 },
  )
  return {
    registrations,
    count: new AdaptiveCount(
      clock,
      () => countAgents(database.read, now()),
      () => isLargeTable(database.read, 'agent_registrations'),
    ),
    close: () => registrations.close(),
  }
}
