import type { Feature } from '../../core.ts'
import { whenClockIsCorrect } from '../../clock/when-correct.ts'
import { openAgentBatches } from './batches.ts'
import type { AgentsParts } from './parts.ts'
import { purgeAgents } from './purge.job.ts'
import { agentRoutes } from './routes.ts'

export { dropAgents, listAgentsOf, unlistAllAgents } from './queries/agents.ts'

export function openAgents(parts: AgentsParts): Feature {
  const batches = openAgentBatches(parts.database, parts.clock)
  return {
    routes: agentRoutes({ ...parts, batches }),
    jobs: [
      {
        name: 'purge-agents',
        everySeconds: 30,
        run: whenClockIsCorrect(parts.clockCheck, (signal) => purgeAgents(parts, signal)),
      },
    ],
    close: () => batches.close(),
  }
}
