import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { sign } from 'node:crypto'
import { parseArgs } from 'node:util'
import { canonicalBytes, writeInstant, writeSortable } from '@chancery/protocol'
import pg from 'pg'
import { RARE_HITS, SEEDED_TAGS, seedAgents } from '../../tests/tools/seed-agents.ts'
import type { BatchStatement } from '../lib/raw-inserts.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { CONNECTIONS, HOST, REQUESTS_PER_SLICE_MAX } from '../lib/conditions.ts'
import { OtherLoad, postgresPids } from '../lib/cpu.ts'
import { createPostgres } from '../lib/databases.ts'
import type { Database } from '../lib/databases.ts'
import { makeNodes, seedCertificates } from '../lib/test-nodes.ts'
import type { BenchNode } from '../lib/test-nodes.ts'
import { LoadGenerator } from '../lib/load.ts'
import type { LoadReport } from '../lib/load-task.ts'
import { createNetwork } from '../lib/network.ts'
import type { BenchNetwork } from '../lib/network.ts'
import { measureAgainstLimit } from '../lib/node-bench.ts'
import { startAuthority } from '../lib/servers.ts'
import type { Server } from '../lib/servers.ts'
import { median, round } from '../lib/statistics.ts'

const REFRESH_BAR = 0.45
const SEARCH_BAR = 0.3
const GROWTH_BAR = 1.5
const FEW = 10_000
const MANY = 1_000_000
const NODES = 5000
const NETWORK = 'bench-network'
/** As many as there are cores: what is measured is an answer, not a queue. */
const LATENCY_CONNECTIONS = 2
/** The pools of two authorities. */
const BARE_CONNECTIONS = 16
const PAGE = 100
const DEEP_PAGE = 1000

/** Searches in a small and a large registry, searches against the bare query, refreshes against the limit formula. */
export const discovery: Bench = {
  name: 'discovery',
  says: 'GET and POST /agents with 1,000,000 agents (--agents N) against 10,000, the bare query and the limit formula',
  run,
}

/** A registry with two authorities on it. */
interface Registry {
  readonly agents: number
  readonly database: Database
  readonly processes: readonly Server[]
  readonly seededInSeconds: number
  /** Searches by name: path with query. */
  readonly paths: Readonly<Record<string, string>>
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const network = await createNetwork(options.directory)
  const agents = readAgents()
  const few = await openRegistry(network, FEW, options)
  const many = await openRegistry(network, agents, options)
  const generator = new LoadGenerator()
  options.cleanup.add(() => generator.close())
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

async function openRegistry(network: BenchNetwork, agents: number, options: BenchOptions): Promise<Registry> {
  const { cleanup, profileDirectory, progress } = options
  const database = await createPostgres(cleanup)
  const processes = [
    await startAuthority({ network, database, profileDirectory }, cleanup),
    await startAuthority({ network, database, profileDirectory }, cleanup),
  ]
  const started = performance.now()
  await seedAgents({ database: database.url, count: agents, network: NETWORK })
  const seededInSeconds = round((performance.now() - started) / 1000, 1)
  progress(`${agents} agents seeded in ${seededInSeconds} s`)
  const port = processes[0]?.port ?? 0
  const { popular, middling, rare } = SEEDED_TAGS
  const paths = {
    rare_first: `/agents?capability=${rare}&limit=${PAGE}`,
    rare_last: `/agents?capability=${rare}&limit=1&cursor=${await cursorAfter(port, rare, RARE_HITS / 2)}`,
    popular_first: `/agents?capability=${popular}&limit=${PAGE}`,
    popular_1000th: `/agents?capability=${popular}&limit=1&cursor=${await cursorAfter(port, popular, DEEP_PAGE - 1)}`,
    // The 1,000th page of a hundred, or the last one where there are fewer.
    popular_deepest: `/agents?capability=${popular}&limit=${PAGE}&cursor=${await cursorAfter(port, popular, Math.min((DEEP_PAGE - 1) * PAGE, Math.floor(agents / 7) - 3 * PAGE))}`,
    middling_first: `/agents?capability=${middling}&limit=${PAGE}`,
  }
  return { agents, database, processes, seededInSeconds, paths }
}

/** The cursor behind the first so many matches, as a client gets to it. */
async function cursorAfter(port: number, capability: string, rows: number): Promise<string> {
  let [left, cursor] = [rows, '']
  while (left > 0) {
    const limit = Math.min(left, 1000)
    const place = cursor === '' ? '' : `&cursor=${cursor}`
    const answer = await fetch(`http://${HOST}:${port}/agents?capability=${capability}&limit=${limit}${place}`)
    const page = (await answer.json()) as { readonly count: number; readonly next_cursor: string | null }
    if (page.next_cursor === null || page.count !== limit) throw new Error(`${capability} has no ${rows} matches`)
    cursor = page.next_cursor
    left -= limit
  }
  return cursor
}

function search(
  generator: LoadGenerator,
  registry: Registry,
  path: string,
  load: { readonly connections: number; readonly seconds: number },
): Promise<LoadReport> {
  const [first, ...more] = registry.processes.map((server) => server.port)
  const place = { host: HOST, port: first ?? 0, morePorts: more }
  return generator.run({ plan: { kind: 'plain', path }, ...place, ...load, maxRequests: REQUESTS_PER_SLICE_MAX })
}

function foreignLoad(generator: LoadGenerator, ...registries: readonly Registry[]): OtherLoad {
  return new OtherLoad(() => [
    process.pid,
    generator.pid,
    ...registries.flatMap(({ processes }) => processes.map((server) => server.pid)),
    ...postgresPids(registries.map(({ database }) => database.name)),
  ])
}

/** p99 of the large registry to that of the small one, in turns inside every round. */
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
  const foreign: number[] = []
  for (let index = 0; index < options.rounds; index += 1) {
    const others = foreignLoad(generator, few, many)
    others.start()
    for (const kind of kinds) {
      const take = (registry: Registry): Promise<LoadReport> =>
        search(generator, registry, registry.paths[kind] ?? '', load)
      // The order changes from round to round.
      const [a, b] = index % 2 === 0 ? [few, many] : [many, few]
      const [first, second] = [await take(a), await take(b)]
      slices.get(kind)?.push(index % 2 === 0 ? { few: first, many: second } : { few: second, many: first })
    }
    foreign.push(others.cores())
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
  return { ...Object.fromEntries(figures), foreign_cores: round(median(foreign), 2) }
}

/** What a page is read with and nothing else: no count, no estimate, the plan known. */
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
    Array.from({ length: BARE_CONNECTIONS }, async () => {
      const client = new pg.Client({ connectionString: registry.database.url })
      await client.connect()
      return client
    }),
  )
  try {
    const figures: Record<string, unknown> = {}
    const { rare_first = '', popular_first = '' } = registry.paths
    const kinds = [
      // As clients ask: everything a rare tag has, which needs no total.
      { name: 'rare', kind: 'rare', path: `/agents?capability=${SEEDED_TAGS.rare}` },
      { name: 'rare_page', kind: 'rare', path: rare_first },
      { name: 'popular_page', kind: 'popular', path: popular_first },
    ] as const
    for (const { name: figure, kind, path } of kinds) {
      const rounds: { ratio: number; bare: number; rate: number; p99: number; foreign: number }[] = []
      const load = { connections: CONNECTIONS, seconds: options.seconds }
      await search(generator, registry, path, load)
      for (let index = 0; index < options.rounds; index += 1) {
        const others = foreignLoad(generator, registry)
        others.start()
        const before = await bareRate(clients, kind, options.seconds / 2)
        const { rate, p99Ms } = await search(generator, registry, path, load)
        const bare = (before + (await bareRate(clients, kind, options.seconds / 2))) / 2
        rounds.push({ ratio: rate / bare, bare, rate, p99: p99Ms, foreign: others.cores() })
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
        foreign_cores: over('foreign', 2),
      }
    }
    return figures
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
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

/** Refreshes of agents that keep their tags, by nodes with real keys among all the others. */
async function measureRefreshes(
  generator: LoadGenerator,
  { database, processes }: Registry,
  options: BenchOptions,
): Promise<Awaited<ReturnType<typeof measureAgainstLimit>> & { readonly foreign_cores: number }> {
  const nodes = makeNodes(NODES)
  await seedCertificates(database.url, nodes, NODES)
  let at = 0
  const bodies = async (count: number): Promise<string[]> =>
    Array.from({ length: count }, () => {
      const node = nodes[(at += 1) % nodes.length]
      return node === undefined ? '' : descriptor(node, at % nodes.length)
    })
  const file = join(options.directory, 'first.txt')
  await writeFile(file, (await bodies(NODES)).join('\n'))
  const [first, ...more] = processes.map((server) => server.port)
  const plan = { kind: 'bodies' as const, path: '/agents', file }
  const place = { host: HOST, port: first ?? 0, morePorts: more }
  await generator.run({ plan, ...place, connections: CONNECTIONS, seconds: 60, maxRequests: NODES })
  const others = new OtherLoad(() => [
    process.pid,
    generator.pid,
    ...processes.map((s) => s.pid),
    ...postgresPids([database.name]),
  ])
  others.start()
  const figures = await measureAgainstLimit(
    {
      path: '/agents',
      bodies,
      database,
      processes,
      statement: refreshRows(nodes),
      batch: 200,
      verifications: 1,
      signatures: 0,
      perSecond: 9000,
    },
    options,
  )
  return { ...figures, foreign_cores: round(others.cores(), 2) }
}

function tagsOf(index: number): readonly string[] {
  return [
    `middling:${index % 100}`,
    `popular:${index % 7}`,
    `rare:${index}`,
    `skill:${index}`,
    `uncommon:${index % 1000}`,
  ]
}

const LIFETIME_MICROSECONDS = 600_000_000n

function descriptor(node: BenchNode, index: number): string {
  const now = BigInt(Date.now()) * 1000n
  const facts = {
    agent_id: `bench-${index}`,
    node_public_key: node.publicKey,
    network_name: NETWORK,
    capabilities: tagsOf(index),
    endpoint: { host: '198.51.100.7', port: 7448, scheme: 'wss' },
    registered_at: writeInstant(now),
    expires_at: writeInstant(now + LIFETIME_MICROSECONDS),
    metadata: { model: 'm-1' },
  }
  const sig = sign(null, canonicalBytes(facts), node.key).toString('base64')
  return JSON.stringify({ ...facts, signatures: [{ key_id: node.publicKey, sig }] })
}

/** P: the rows of a refresh written in batches, nothing asked or compared. */
function refreshRows(nodes: readonly BenchNode[]): BatchStatement {
  const rows = nodes.map((node, index) => ({ node, index, json: descriptor(node, index) }))
  let at = 0
  return (count) => {
    const batch = Array.from({ length: count }, () => rows[(at += 1) % rows.length]).filter((row) => row !== undefined)
    const now = BigInt(Date.now()) * 1000n
    return {
      name: 'bare-refresh',
      text:
        'insert into agent_registrations (node_public_key, agent_id, descriptor_json, capabilities_json, registered_at, expires_at, listed) ' +
        'select *, $5, $6, 1 from unnest($1::text[], $2::text[], $3::text[], $4::text[]) ' +
        'on conflict (node_public_key) do update set agent_id = excluded.agent_id, descriptor_json = excluded.descriptor_json, ' +
        'capabilities_json = excluded.capabilities_json, registered_at = excluded.registered_at, expires_at = excluded.expires_at, listed = 1',
      values: [
        batch.map(({ node }) => node.publicKey),
        batch.map(({ index }) => `bench-${index}`),
        batch.map(({ json }) => json),
        batch.map(({ index }) => JSON.stringify(tagsOf(index))),
        writeSortable(now),
        writeSortable(now + LIFETIME_MICROSECONDS),
      ],
    }
  }
}

/** Resident memory of the authorities, in megabytes. */
function memory(few: Registry, many: Registry): Record<'few' | 'many', readonly number[]> {
  const of = ({ processes }: Registry): readonly number[] =>
    processes.map(({ pid }) => {
      const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1]
      return Math.round(Number(kilobytes ?? 0) / 1024)
    })
  return { few: of(few), many: of(many) }
}
