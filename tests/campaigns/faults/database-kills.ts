import { setTimeout as pause } from 'node:timers/promises'
import { type TemporaryPostgres, startTemporaryPostgres } from '@chancery/testkit'
import pg from 'pg'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type FaultSetup, runFaultCases } from './fault-cases.ts'
import { openFaultInstances } from './fault-instances.ts'

export const summary = 'kill -9 of PostgreSQL, or of one of its processes, under the load of three instances'
export const defaultCount = 20

export function run(options: CampaignOptions): Promise<CampaignResult> {
  return runFaultCases(options, openSetup)
}

async function openSetup(): Promise<FaultSetup> {
  const server = await startTemporaryPostgres()
  const instances = await openFaultInstances({ databaseUrl: () => server.url })
  return {
    instances,
    databaseUrl: () => server.url,
    async breakAndMend(index, random) {
      if (index % 2 === 0) {
        await server.kill()
        await pause(random.below(500))
        await server.start()
        return []
      }
      return killOne(server)
    },
    async close() {
      await instances.close()
      await server.remove()
    },
  }
}

/** Kills one server process of an instance. The server then ends all others, too, and recovers without help. */
async function killOne(server: TemporaryPostgres): Promise<string[]> {
  const client = new pg.Client({ connectionString: server.url })
  client.on('error', () => undefined)
  await client.connect()
  try {
    const busy = `select pid from pg_stat_activity where application_name = 'chancery-authority' order by state limit 1`
    const { rows } = await client.query<{ pid: number }>(busy)
    const pid = rows[0]?.pid
    if (pid === undefined) return ['no process of the server works for an instance']
    process.kill(pid, 'SIGKILL')
    return []
  } finally {
    await client.end().catch(() => undefined)
  }
}
