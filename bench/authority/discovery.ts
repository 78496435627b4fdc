import { parseArgs } from 'node:util'
import { writeSortable } from '@chancery/protocol'
import type pg from 'pg'
import { SEEDED_TAGS } from '../../tests/tools/seed-agents.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { CONNECTIONS } from '../lib/conditions.ts'
import { residentMiB } from '../lib/cpu.ts'
import { connect } from '../lib/databases.ts'
import type { LoadReport } from '../lib/load-task.ts'
import { LoadGenerator } from '../lib/load.ts'
import { median, round } from '../lib/statistics.ts'
import { measureRefreshes } from './agent-refreshes.ts'
import { measureOtherLoad, openRegistry, PAGE, type Registry, search } from './agent-registry.ts'

const REFRESH_BAR = 0.45
const SEARCH_BAR = 0.3
const GROWTH_BAR = 1.5
const FEW = 10_000
const MANY = 1_000_000
/** As many as there are cores, so that responses are measured and not a queue. */
const LATENCY_CONNECTIONS = 2
/** The pools of two authorities. */
const BARE_CONNECTIONS = 16

/** Searches in a small and a large registry, searches against the bare query, refreshes against the limit formula. */
export const discovery: Bench = {
  name: 'discovery',
  says: 'GET and POST /agents with 1,000,000 agents (--agents N) against 10,000, the bare query and the limit formula',
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const agents = readAgents()
  const few = await openRegistry(FEW, options)
  const many = await openRegistry(agents, options)
  const generator = LoadGenerator.open(options.cleanup)
  const memoryBefore = memory(few, many)
  const growth = await measureGrowth(generator, few, many, options)
  const searches = await measureSearches(generator, many, options)
  const memoryAfter = memory(few, many)
  const refreshes = await measureRefreshes(generator, many, options)
  return {
    ratio: refreshes.ratio,
    bar: REFRESH_BAR,
    agents,
    seeded_in_seconds: many.seededInSeconds,
    growth_bar: GROWTH_BAR,
    growth,
    search_bar: SEARCH_BAR,
    searches,
    refreshes,
    rss_mb: { before: memoryBefore, after_searches: memoryAfter, after_refreshes: memory(few, many) },
  }
}

function readAgents(): number {
  const { values } = parseArgs({ strict: false, options: { agents: { type: 'string', default: String(MANY) } } })
  const agents = Number(values.agents)
  if (!Number.isInteger(agents) || agents < FEW || agents > 10_000_000) throw new Error('--agents: 10000 to 10000000')
  return agents
}

/** p99 of the large registry to that of the small one, measured alternately in every round. */
async function measureGrowth(
  generator: LoadGenerator,
  few: Registry,
  many: Registry,
  options: BenchOptions,
): Promise<Record<string, unknown>> {
  const kinds = Object.keys(few.paths)
  const load = { connections: LATENCY_CONNECTIONS, seconds: options.seconds / 2 }
  const slices = new Map<string, { few: LoadReport; many: LoadReport }[]>(kinds.map((kind) => [kind, []]))
  for (const kind of kinds) {
    for (const registry of [few, many]) await search(generator, registry, registry.paths[kind] ?? '', load)
  }
  const otherLoad: number[] = []
  for (let index = 0; index < options.rounds; index += 1) {
    const others = measureOtherLoad(generator, few, many)
    others.start()
    for (const kind of kinds) {
      const take = (registry: Registry): Promise<LoadReport> =>
        search(generator, registry, registry.paths[kind] ?? '', load)
      // The order changes from round to round.
      const [a, b] = index % 2 === 0 ? [few, many] : [many, few]
      const [first, second] = [await take(a), await take(b)]
      slices.get(kind)?.push(index % 2 === 0 ? { few: first, many: second } : { few: second, many: first })
    }
    otherLoad.push(others.cores())
    options.progress(`growth round ${index + 1}, foreign cores ${others.cores().toFixed(2)}`)
  }
  const figures = [...slices].map(([kind, pairs]) => {
    const over = (pick: (pair: { few: LoadReport; many: LoadReport }) => number): number =>
      round(median(pairs.map(pick)), 2)
    return [
      kind,
      {
        p99_ratio: over((pair) => pair.many.p99Ms / pair.few.p99Ms),
        p50_ratio: over((pair) => pair.many.p50Ms / pair.few.p50Ms),
        p99_ms: [over((pair) => pair.few.p99Ms), over((pair) => pair.many.p99Ms)],
        p50_ms: [over((pair) => pair.few.p50Ms), over((pair) => pair.many.p50Ms)],
      },
    ] as const
  })
  return { ...Object.fromEntries(figures), foreign_cores: round(median(otherLoad), 2) }
}

/** The bare query of a page: no count, no estimate, a prepared plan. */
const BARE = {
  rare: {
    name: 'bare-rare',
    text:
      'select r.node_public_key, r.registered_at, r.descriptor_json from agent_capabilities p inner join agent_registrations r on r.node_public_key = p.node_public_key ' +
      'where p.capability = $1 and r.expires_at > $2 order by r.registered_at desc, r.node_public_key limit $3',
  },
  popular: {
    name: 'bare-popular',
    text:
      'select r.node_public_key, r.registered_at, r.descriptor_json from agent_registrations r where r.expires_at > $2 ' +
      'and (select 1 from agent_capabilities p where p.capability = $1 and p.node_public_key = r.node_public_key) is not null ' +
      'order by r.registered_at desc, r.node_public_key limit $3',
  },
} as const

async function measureSearches(
  generator: LoadGenerator,
  registry: Registry,
  options: BenchOptions,
): Promise<Record<string, unknown>> {
  const clients = await Promise.all(
    Array.from({ length: BARE_CONNECTIONS }, () => connect(registry.database.url, options.cleanup)),
  )
  const figures: Record<string, unknown> = {}
  const { rare_first = '', popular_first = '' } = registry.paths
  const kinds = [
    // Typical requests: all agents of a rare tag, which needs no total.
    { name: 'rare', kind: 'rare', path: `/agents?capability=${SEEDED_TAGS.rare}` },
    { name: 'rare_page', kind: 'rare', path: rare_first },
    { name: 'popular_page', kind: 'popular', path: popular_first },
  ] as const
  for (const { name: figure, kind, path } of kinds) {
    const rounds: { ratio: number; bare: number; rate: number; p99: number; otherLoad: number }[] = []
    const load = { connections: CONNECTIONS, seconds: options.seconds }
    await search(generator, registry, path, load)
    for (let index = 0; index < options.rounds; index += 1) {
      const others = measureOtherLoad(generator, registry)
      others.start()
      const before = await bareRate(clients, kind, options.seconds / 2)
      const { rate, p99Ms } = await search(generator, registry, path, load)
      const bare = (before + (await bareRate(clients, kind, options.seconds / 2))) / 2
      rounds.push({ ratio: rate / bare, bare, rate, p99: p99Ms, otherLoad: others.cores() })
      options.progress(`${figure}: ${Math.round(rate)}/s of bare ${Math.round(bare)}/s = ${(rate / bare).toFixed(2)}`)
    }
    const over = (name: keyof (typeof rounds)[number], digits = 0): number =>
      round(median(rounds.map((each) => each[name])), digits)
    figures[figure] = {
      ratio: over('ratio', 3),
      ratios: rounds.map(({ ratio }) => round(ratio)),
      rate: over('rate'),
      bare: over('bare'),
      p99_ms: over('p99', 2),
      foreign_cores: over('otherLoad', 2),
    }
  }
  return figures
}

async function bareRate(clients: readonly pg.Client[], kind: 'rare' | 'popular', seconds: number): Promise<number> {
  const started = performance.now()
  const end = started + seconds * 1000
  let done = 0
  await Promise.all(
    clients.map(async (client) => {
      while (performance.now() < end) {
        const now = writeSortable(BigInt(Date.now()) * 1000n)
        await client.query({ ...BARE[kind], values: [SEEDED_TAGS[kind], now, PAGE + 1] })
        done += 1
      }
    }),
  )
  return (done * 1000) / (performance.now() - started)
}

/** Resident memory of the authorities, in megabytes. */
function memory(few: Registry, many: Registry): Record<'few' | 'many', readonly number[]> {
  const of = ({ processes }: Registry): readonly number[] => processes.map(({ pid }) => Math.round(residentMiB(pid)))
  return { few: of(few), many: of(many) }
}
