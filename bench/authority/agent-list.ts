import { DAY, HOUR, MINUTE, readInstant, writeInstant, writeSortable } from '@chancery/protocol'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { type Database, createPostgres, createSqlite, numbersFrom, onDatabase } from '../lib/databases.ts'
import { createNetwork } from '../lib/network.ts'
import { measurePages } from '../lib/operator-pages.ts'
import { startAuthority } from '../lib/servers.ts'
import { round } from '../lib/statistics.ts'

/** Maximum 95th percentile of a page, independent of the number of agents. */
const BOUND_MS = 200
const AGENTS = 1_000_000
const AT_ONCE = 2000

/** Pages of the console: first page, each filter, searches of narrow and wide prefixes, and filters no index serves. */
const QUERIES = {
  first: {},
  popular_capability: { capability: 'popular:3' },
  common_capability: { capability: 'common:42' },
  rare_capability: { capability: 'rare:7' },
  by_agent: { q: 'agent-777' },
  all_agents: { q: 'agent-' },
  by_host: { q: 'h77.' },
  by_capability: { q: 'common:4' },
  all_capabilities: { q: 'popular' },
  host: { host: 'h77.example' },
  ending: { expires_before: '2999-01-01T00:00:00Z' },
  silent: { state: 'silent' },
  capability_and_text: { capability: 'popular:3', q: 'agent-777' },
} as const

const CAPABILITIES = { capabilities: {}, capabilities_by_prefix: { q: 'rare:7' } } as const

/** GET /admin/agents and /admin/agents/capabilities with a million agents, on both engines. */
export const agentList: Bench = {
  name: 'agent-list',
  says: `GET /admin/agents with ${AGENTS} agents (--entries), on PostgreSQL and SQLite: ${BOUND_MS} ms over the slowest 95th percentile (1)`,
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const agents = options.entries ?? AGENTS
  const postgres = await measure(options, await createPostgres(options.cleanup), agents)
  const sqlite = await measure(options, createSqlite(options.directory), agents)
  const slowest = Math.max(...[postgres, sqlite].flatMap((times) => Object.values(times)))
  return { ratio: round(BOUND_MS / slowest), bar: 1, agents, postgres, sqlite }
}

async function measure(options: BenchOptions, database: Database, agents: number): Promise<Record<string, number>> {
  const { cleanup, directory, profileDirectory, progress } = options
  const network = await createNetwork(directory)
  const { port } = await startAuthority({ network, database, profileDirectory }, cleanup)
  await fill(database, agents)
  progress(`${database.kind}: ${agents} agents`)
  const note = (line: string): void => progress(`${database.kind}: ${line}`)
  const pages = { network, port, progress: note }
  return {
    ...(await measurePages({ ...pages, path: '/admin/agents', queries: QUERIES })),
    ...(await measurePages({ ...pages, path: '/admin/agents/capabilities', queries: CAPABILITIES })),
  }
}

/** The text of the descriptor of agent n, in SQL. Its signature does not verify. */
export function descriptorOf(capabilities: string, host: string, now: bigint): string {
  return `'{"agent_id":"agent-' || n || '","capabilities":' || ${capabilities} || ',"endpoint":{"host":"' || ${host} || '","port":443,"scheme":"https"},"expires_at":"${writeInstant(now + DAY / 2n)}","metadata":{},"network_name":"bench","node_public_key":"key-' || n || '","registered_at":"${writeInstant(now)}","signatures":[{"key_id":"key-' || n || '","sig":"${'x'.repeat(88)}"}]}'`
}

/** Rows like those of registrations, without signatures: three capabilities each, and three of ten nodes are silent. */
async function fill(database: Database, agents: number): Promise<void> {
  const now = readInstant(new Date().toISOString()) ?? 0n
  const at = (instant: bigint): string => `'${writeSortable(instant)}'`
  const micros = database.kind === 'postgres' ? "lpad((n % 1000000)::text, 6, '0')" : "printf('%06d', n % 1000000)"
  const spread = (instant: bigint): string => `'${writeSortable(instant).slice(0, -7)}' || ${micros} || 'Z'`
  const tags = ["'common:' || (n % 100)", "'popular:' || (n % 7)", "'rare:' || (n / 20)"] as const
  const json = `'["' || ${tags.join(` || '","' || `)} || '"]'`
  const host = "'h' || (n % 5000) || '.example'"
  const descriptor = descriptorOf(json, host, now)
  await onDatabase(database, async (execute) => {
    for (let from = 1; from <= agents; from += AT_ONCE) {
      const numbers = numbersFrom(database, from, Math.min(from + AT_ONCE - 1, agents))
      await execute(`insert into issued_certs (cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, status)
        select 'cert-' || n, 'key-' || n, '{}', '["role:client"]', ${at(now - DAY)}, ${at(now + 7n * DAY)}, 192, 'issued' from ${numbers}`)
      await execute(`insert into node_liveness (cert_id, node_public_key, last_heartbeat, heartbeat_status, remote_addr)
        select 'cert-' || n, 'key-' || n, case when n % 10 < 3 then ${at(now - HOUR)} else ${at(now + HOUR)} end, 'ok', '10.0.0.1' from ${numbers}`)
      await execute(`insert into agent_registrations (node_public_key, agent_id, host, descriptor_json, capabilities_json, registered_at, expires_at, listed)
        select 'key-' || n, 'agent-' || n, ${host}, ${descriptor}, ${json}, ${spread(now - MINUTE)}, ${spread(now + DAY / 2n)}, 1 from ${numbers}`)
      for (const tag of tags)
        await execute(
          `insert into agent_capabilities (capability, node_public_key) select ${tag}, 'key-' || n from ${numbers}`,
        )
    }
    await execute(
      'insert into agent_capability_counts (capability, agents) select capability, count(*) from agent_capabilities group by capability',
    )
    await execute('analyze')
  })
}
