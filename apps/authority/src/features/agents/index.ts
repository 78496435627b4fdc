import { agents } from '@chancery/contract'
import { bind } from '../../auth/access.ts'
import { bindRead } from '../../auth/replica-routes.ts'
import type { Feature } from '../../core.ts'
import { whenClockIsCorrect } from '../../clock/when-correct.ts'
import { openAgentBatches } from './batches.ts'
import { capabilities } from './capabilities.ts'
import { find } from './find.ts'
import { list } from './list.ts'
import type { AgentsParts } from './parts.ts'
import { purgeAgents } from './purge.job.ts'
import { register } from './register.ts'
import { remove } from './remove.ts'
import { search } from './search.ts'

export { dropAgents, listAgentsOf, unlistAllAgents } from './queries/agents.ts'

export function openAgents(parts: AgentsParts): Feature {
  const batches = openAgentBatches(parts.database, parts.clock)
  const own = { ...parts, batches }
  return {
    routes: [
      bind(agents.register, (call) => register(call, own)),
      bindRead(agents.search, { reads: parts.agentReads }, (call, database) => search(call, { ...own, database })),
      bindRead(agents.find, { reads: parts.agentReads }, (call, database) => find(call, { ...own, database })),
      bind(agents.remove, (call) => remove(call, own)),
      bindRead(agents.list, { reads: parts.agentReads }, (call, database) => list(call, { ...own, database })),
      bindRead(agents.capabilities, { reads: parts.agentReads }, (call, database) =>
        capabilities(call, { ...own, database }),
      ),
    ],
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
