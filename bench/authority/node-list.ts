import { DAY, HOUR, readInstant, writeSortable } from '@chancery/protocol'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { type Database, createPostgres, createSqlite, numbersFrom, onDatabase } from '../lib/databases.ts'
import { createNetwork } from '../lib/network.ts'
import { measurePages } from '../lib/operator-pages.ts'
import { startAuthority } from '../lib/servers.ts'
import { round } from '../lib/statistics.ts'
import { descriptorOf } from './agent-list.ts'

/** Maximum 95th percentile of a page, independent of the number of nodes. */
const BOUND_MS = 200
const NODES = 1_000_000
const AT_ONCE = 2000
const CAPABILITIES = `'["payments.read"]'`

/** Pages of the console: first pages of each state, searches by prefix, and filters that no index serves. */
const QUERIES = {
  first: {},
  silent: { state: 'silent' },
  ends_soon: { state: 'ends_soon' },
  active: { state: 'active' },
  revoked: { state: 'revoked' },
  expired: { state: 'expired' },
  by_label: { q: 'dock 77' },
  by_key: { q: 'key-77' },
  by_address: { q: '10.7.' },
  by_agent: { q: 'agent-7' },
  rare_role: { role: 'role:rare' },
  with_agent: { has_agent: 'true' },
} as const

/** GET /admin/nodes of a network of a million nodes, on both engines. */
export const nodeList: Bench = {
  name: 'node-list',
  says: `GET /admin/nodes with ${NODES} nodes (--entries), on PostgreSQL and SQLite: ${BOUND_MS} ms over the slowest 95th percentile (1)`,
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const nodes = options.entries ?? NODES
  const postgres = await measure(options, await createPostgres(options.cleanup), nodes)
  const sqlite = await measure(options, createSqlite(options.directory), nodes)
  const slowest = Math.max(...[postgres, sqlite].flatMap((times) => Object.values(times)))
  return { ratio: round(BOUND_MS / slowest), bar: 1, nodes, postgres, sqlite }
}

async function measure(options: BenchOptions, database: Database, nodes: number): Promise<Record<string, number>> {
  const { cleanup, directory, profileDirectory, progress } = options
  const network = await createNetwork(directory)
  const { port } = await startAuthority({ network, database, profileDirectory }, cleanup)
  await fillNodes(database, nodes)
  progress(`${database.kind}: ${nodes} nodes`)
  const note = (line: string): void => progress(`${database.kind}: ${line}`)
  return measurePages({ network, port, path: '/admin/nodes', queries: QUERIES, progress: note })
}

/** Rows like those of joins, without signatures: of ten nodes one is revoked, one has ended and three are silent. */
export async function fillNodes(database: Database, nodes: number): Promise<void> {
  const now = readInstant(new Date().toISOString()) ?? 0n
  const at = (instant: bigint): string => `'${writeSortable(instant)}'`
  const spread = (from: bigint, step: bigint): string =>
    `case n % 10 ${Array.from({ length: 10 }, (_, i) => `when ${i} then ${at(from + BigInt(i) * step)}`).join(' ')} end`
  const ends = `case n % 10 when 0 then ${at(now - HOUR)} when 1 then ${at(now + HOUR)} else ${spread(now + 2n * DAY, DAY)} end`
  const heard = `case when n % 10 in (2, 3, 4) then ${at(now - HOUR)} else ${at(now + HOUR)} end`
  const id = `substr('0000000' || n, -8) || '-0000-4000-8000-' || substr('00000000000' || n, -12)`
  const host = "'h' || (n % 5000) || '.example'"
  const padded = database.kind === 'postgres' ? id.replaceAll(/substr\((.+?), -(\d+)\)/g, 'right($1, $2)') : id
  await onDatabase(database, async (execute) => {
    for (let from = 1; from <= nodes; from += AT_ONCE) {
      const to = Math.min(from + AT_ONCE - 1, nodes)
      const numbers = numbersFrom(database, from, to)
      await execute(`insert into issued_certs (cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, status, revoked_at)
        select ${padded}, 'key-' || n, '${'x'.repeat(600)}', case when n = 5 then '["role:rare"]' else '["role:client"]' end,
        ${spread(now - 10n * DAY, DAY)}, ${ends}, 168, case when n % 10 = 5 then 'revoked' else 'issued' end, null from ${numbers}`)
      await execute(`insert into node_liveness (cert_id, node_public_key, last_heartbeat, heartbeat_status, remote_addr, silent_since)
        select ${padded}, 'key-' || n, ${heard}, 'ok', '10.' || (n % 250) || '.' || (n % 199) || '.1',
        case when n % 10 in (2, 3, 4) then ${at(now - HOUR)} end from ${numbers} where n % 10 <> 5`)
      await execute(`insert into node_labels (node_public_key, label, folded)
        select 'key-' || n, 'Dock ' || n, 'dock ' || n from ${numbers} where n % 4 = 0`)
      const agents = `${numbers} where n % 5 = 0`
      await execute(`insert into agent_registrations (node_public_key, agent_id, host, descriptor_json, capabilities_json, registered_at, expires_at, listed)
        select 'key-' || n, 'agent-' || n, ${host}, ${descriptorOf(CAPABILITIES, host, now - HOUR)}, ${CAPABILITIES}, ${at(now - HOUR)}, ${at(now + DAY / 2n - HOUR)}, 1 from ${agents}`)
      await execute(
        `insert into agent_capabilities (capability, node_public_key) select 'payments.read', 'key-' || n from ${agents}`,
      )
    }
    await execute(`insert into agent_capability_counts (capability, agents) select 'payments.read', ${Math.floor(nodes / 5)}
      where true on conflict (capability) do update set agents = agent_capability_counts.agents + excluded.agents`)
    await execute('analyze')
  })
}
