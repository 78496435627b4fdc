import { writeSortable } from '@chancery/protocol'
import { Batcher } from '@chancery/service-kit'
import type { Clock } from '@chancery/service-kit'
import { AdaptiveCount } from '../../adaptive-count.ts'
import type { Store } from '../../store/database.ts'
import { isLargeTable } from '../../store/large-table.ts'
import { registerAgents } from '../../store/registrations.ts'
import type { RegistrationOutcome, RegistrationRow } from '../../store/registrations.ts'
import { countAgents } from './store.ts'

/** Where announcements wait for the next transaction, and the public count. */
export interface AgentDesk {
  readonly registrations: Batcher<RegistrationRow, RegistrationOutcome>
  readonly count: AdaptiveCount
  close(): Promise<void>
}

export function openAgentDesk(store: Store, clock: Clock): AgentDesk {
  const now = (): string => writeSortable(clock.now())
  const registrations = new Batcher<RegistrationRow, RegistrationOutcome>(
    async (rows) => [...(await registerAgents(store.engine, rows, now()))],
    { maxItems: 200, maxWaiting: 5000 },
  )
  return {
    registrations,
    count: new AdaptiveCount(
      clock,
      () => countAgents(store.db, now()),
      () => isLargeTable(store.db, 'agent_registrations'),
    ),
    close: () => registrations.close(),
  }
}
