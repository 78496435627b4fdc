import { setTimeout as pause } from 'node:timers/promises'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type FaultSetup, runFaultCases } from './fault-checks.ts'
import { type FaultInstances, openFaultInstances } from './fault-instances.ts'
import { startReplicatedServer } from '../lib/private-postgres.ts'

export const summary = 'a synchronous standby takes over under the load of three instances; the old primary is fenced'
export const defaultCount = 4

const KINDS = ['killed', 'cut off', 'starved'] as const
const STARVED_MS = 11_000
const RECONNECTED_MS = 5000
const GIVE_UP_MS = 20_000

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runFaultCases(options, () => openSetup(options.log))
}

async function openSetup(log: CampaignOptions['log']): Promise<FaultSetup> {
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
      return measureReconnection(instances, (text) => log(`failover ${index + 1}, ${kind}: ${text}`))
    },
    async close() {
      await instances.close()
      await server.remove()
    },
  }
}

/** From the moment at which the new primary accepts connections, until every instance has stored a change again. */
async function measureReconnection(
  instances: FaultInstances,
  report: (text: string) => void,
): Promise<readonly string[]> {
  const startMs = performance.now()
  const times = await Promise.all(
    instances.processes.map(async (each) => {
      for (;;) {
        const answer = await each
          .as('standard')('POST', '/admin/invite', {})
          .catch(() => undefined)
        const elapsedMs = performance.now() - startMs
        if (answer?.status === 201 || elapsedMs > GIVE_UP_MS) return elapsedMs
        await pause(10)
      }
    }),
  )
  report(`changes again after ${times.map((ms) => (ms / 1000).toFixed(2)).join(', ')} s`)
  const late = times.filter((ms) => ms > RECONNECTED_MS)
  return late.map((ms) => `an instance stored no change for ${Math.round(ms)} ms after the failover`)
}
