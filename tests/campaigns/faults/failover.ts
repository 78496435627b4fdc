import { setTimeout as pause } from 'node:timers/promises'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { runFaultCases } from './fault-cases.ts'
import type { FaultSetup } from './fault-cases.ts'
import { openFaultInstances } from './fault-instances.ts'
import { startReplicatedServer } from '../lib/replicated-server.ts'

export const summary = 'a synchronous standby takes over under the load of three instances; the old primary is fenced'
export const defaultCount = 4

const KINDS = ['killed', 'cut off', 'starved'] as const
const STARVED_MS = 11_000

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runFaultCases(options, openSetup)
}

async function openSetup(): Promise<FaultSetup> {
  const server = await startReplicatedServer()
  const instances = await openFaultInstances({
    databaseUrl: () => server.url,
    settings: { NA_REQUIRE_SYNC_STANDBY: 'on' },
  })
  let isFirst = true
  return {
    instances,
    databaseUrl: () => server.primaryUrl,
    async breakAndMend(index, random) {
      // Creates the standby again under load, from a base copy of the running server.
      if (!isFirst) await server.restoreStandby()
      isFirst = false
      await pause(200 + random.below(500))
      const kind = KINDS[index % KINDS.length] ?? 'killed'
      if (kind === 'starved') {
        server.starveStandby()
        // Longer than the time limit of a statement or request, so waiting calls must not succeed.
        await pause(STARVED_MS + random.below(6000))
      }
      await server.failOver(kind === 'cut off' ? 'cut off' : 'killed')
      return []
    },
    async close() {
      await instances.close()
      await server.remove()
    },
  }
}
