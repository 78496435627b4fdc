import { setTimeout as pause } from 'node:timers/promises'
import { type FaultProxy, startFaultProxy } from '@chancery/testkit'
import type { CampaignOptions, CampaignResult } from '../lib/campaign.ts'
import { type FaultSetup, runFaultCases } from './fault-checks.ts'
import { openFaultInstances } from './fault-instances.ts'
import { startOwnServer } from '../lib/private-postgres.ts'
import type { Random } from '../lib/random.ts'

export const summary = 'instances cut off from the database, stalled, or cut during COMMIT, under load'
export const defaultCount = 15

const KINDS = ['cut', 'stalled', 'cut during COMMIT'] as const
const INSTANCES = 3

export async function run(options: CampaignOptions): Promise<CampaignResult> {
  const cuts = { count: 0 }
  const result = await runFaultCases(options, () => openSetup(cuts))
  options.log(`${cuts.count} connections cut during COMMIT`)
  return result
}

async function openSetup(cuts: { count: number }): Promise<FaultSetup> {
  const server = await startOwnServer()
  const database = await server.createDatabase()
  const direct = new URL(database.settings['DATABASE_URL'] ?? '')
  const target = { host: '127.0.0.1', port: Number(direct.port) }
  const proxies = await Promise.all(Array.from({ length: INSTANCES }, () => startFaultProxy(target)))
  const through = (index: number): string => {
    const url = new URL(direct)
    url.port = String(proxies[index]?.port)
    return url.href
  }
  const instances = await openFaultInstances({ databaseUrl: through, directUrl: direct.href, instances: INSTANCES })
  return {
    instances,
    databaseUrl: () => direct.href,
    async breakAndMend(index, random) {
      const kind = KINDS[index % KINDS.length] ?? 'cut'
      // Cuts off one instance or all. With all cut off no write is possible, and none may be acknowledged.
      const one = random.below(INSTANCES)
      const hit = random.chance(25) ? proxies : proxies.filter((_, each) => each === one)
      const before = cuts.count
      for (const proxy of hit) split(proxy, kind, random, cuts)
      await pause(300 + random.below(2500))
      for (const proxy of hit) heal(proxy)
      return kind === 'cut during COMMIT' && cuts.count === before ? ['no COMMIT was cut'] : []
    },
    async close() {
      await instances.close()
      for (const proxy of proxies) await proxy.close()
      await server.remove()
    },
  }
}

function split(proxy: FaultProxy, kind: (typeof KINDS)[number], random: Random, cuts: { count: number }): void {
  if (kind === 'cut') proxy.isolate(true)
  else if (kind === 'stalled') proxy.stall(true)
  else {
    // Before the server receives COMMIT, after it received it, or before its response arrives.
    proxy.decide = (direction, piece) => {
      // Matches the whole statement, because BEGIN names the isolation level "read committed".
      const isCommit = piece.includes(direction === 'to-server' ? 'commit\0' : 'COMMIT\0')
      if (!isCommit || !random.chance(20)) return 'pass'
      cuts.count += 1
      return random.pick(['cut', 'pass-then-cut'] as const)
    }
  }
}

function heal(proxy: FaultProxy): void {
  proxy.decide = () => 'pass'
  proxy.stall(false)
  proxy.isolate(false)
}
