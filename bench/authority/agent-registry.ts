import { RARE_HITS, seedAgents, SEEDED_TAGS } from '../../tests/tools/seed-agents.ts'
import type { BenchOptions } from '../lib/bench.ts'
import { HOST, REQUESTS_PER_SLICE_MAX } from '../lib/conditions.ts'
import { OtherLoad, postgresPids } from '../lib/cpu.ts'
import type { Database } from '../lib/databases.ts'
import type { LoadReport } from '../lib/load-task.ts'
import type { LoadGenerator } from '../lib/load.ts'
import { openAuthority, type Server } from '../lib/servers.ts'
import { round } from '../lib/statistics.ts'

export const NETWORK = 'bench-network'
export const PAGE = 100
const DEEP_PAGE = 1000

/** A registry with two authorities on it. */
export interface Registry {
  readonly agents: number
  readonly database: Database
  readonly processes: readonly Server[]
  readonly seededInSeconds: number
  /** Searches by name: path with query. */
  readonly paths: Readonly<Record<string, string>>
}

export async function openRegistry(agents: number, options: BenchOptions): Promise<Registry> {
  const { progress } = options
  const { database, server, processes } = await openAuthority(options, { processes: 2 })
  const started = performance.now()
  await seedAgents({ database: database.url, count: agents, network: NETWORK })
  const seededInSeconds = round((performance.now() - started) / 1000, 1)
  progress(`${agents} agents seeded in ${seededInSeconds} s`)
  const { port } = server
  const { popular, middling, rare } = SEEDED_TAGS
  const paths = {
    rare_first: `/agents?capability=${rare}&limit=${PAGE}`,
    rare_last: `/agents?capability=${rare}&limit=1&cursor=${await cursorAfter(port, rare, RARE_HITS / 2)}`,
    popular_first: `/agents?capability=${popular}&limit=${PAGE}`,
    popular_1000th: `/agents?capability=${popular}&limit=1&cursor=${await cursorAfter(port, popular, DEEP_PAGE - 1)}`,
    // Number of the 1,000th page of a hundred, or of the last one where there are fewer.
    popular_deepest: `/agents?capability=${popular}&limit=${PAGE}&cursor=${await cursorAfter(port, popular, Math.min((DEEP_PAGE - 1) * PAGE, Math.floor(agents / 7) - 3 * PAGE))}`,
    middling_first: `/agents?capability=${middling}&limit=${PAGE}`,
  }
  return { agents, database, processes, seededInSeconds, paths }
}

/** Returns the cursor after this many matches, from the pages a client reads. */
async function cursorAfter(port: number, capability: string, rows: number): Promise<string> {
  let [left, cursor] = [rows, '']
  while (left > 0) {
    const limit = Math.min(left, 1000)
    const position = cursor === '' ? '' : `&cursor=${cursor}`
    const response = await fetch(`http://${HOST}:${port}/agents?capability=${capability}&limit=${limit}${position}`)
    const page = (await response.json()) as { readonly count: number; readonly next_cursor: string | null }
    if (page.next_cursor === null || page.count !== limit) throw new Error(`${capability} has no ${rows} matches`)
    cursor = page.next_cursor
    left -= limit
  }
  return cursor
}

export function search(
  generator: LoadGenerator,
  registry: Registry,
  path: string,
  load: { readonly connections: number; readonly seconds: number },
): Promise<LoadReport> {
  const [first, ...more] = registry.processes.map((server) => server.port)
  const target = { host: HOST, port: first ?? 0, morePorts: more }
  return generator.run({ plan: { kind: 'plain', path }, ...target, ...load, maxRequests: REQUESTS_PER_SLICE_MAX })
}

export function measureOtherLoad(generator: LoadGenerator, ...registries: readonly Registry[]): OtherLoad {
  return new OtherLoad(() => [
    process.pid,
    generator.pid,
    ...registries.flatMap(({ processes }) => processes.map((server) => server.pid)),
    ...postgresPids(registries.map(({ database }) => database.name)),
  ])
}
