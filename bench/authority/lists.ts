import {
  DAY,
  HOUR,
  MINUTE,
  operatorBytes,
  readInstant,
  seedSigner,
  signOperatorRequest,
  writeInstant,
  writeSortable,
} from '@chancery/protocol'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { comparedServer, copyDocument, requireSameResponse } from '../lib/compared-servers.ts'
import { HOST } from '../lib/conditions.ts'
import { postgresPids } from '../lib/cpu.ts'
import { createPostgres, createSqlite, type Database, numbersFrom, onDatabase } from '../lib/databases.ts'
import { ratioFigures, roundFigures, serverFigures } from '../lib/figures.ts'
import { LoadGenerator } from '../lib/load.ts'
import { measure } from '../lib/measure.ts'
import type { BenchNetwork } from '../lib/network.ts'
import { operatorHeaders, type OperatorPlan, operatorRequest } from '../lib/requests.ts'
import { openAuthority, startAuthority, startBaseline } from '../lib/servers.ts'
import { round } from '../lib/statistics.ts'

/** Maximum 95th percentile of a page, independent of the number of rows. */
const BOUND_MS = 200
const ROWS = 1_000_000
const AT_ONCE = 2000
const CALLS = 40
type Queries = Readonly<Record<string, Readonly<Record<string, string>>>>

/** First pages of each state, searches by prefix, and filters that no index serves. */
const NODE_PAGES: readonly (readonly [string, Queries])[] = [
  [
    '/admin/nodes',
    {
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
    },
  ],
]
/** First page, each filter, searches of narrow and wide prefixes, and filters no index serves. */
const AGENT_PAGES: typeof NODE_PAGES = [
  [
    '/admin/agents',
    {
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
    },
  ],
  ['/admin/agents/capabilities', { capabilities: {}, capabilities_by_prefix: { q: 'rare:7' } }],
]
const HISTORY = '/admin/policy/history'
const READ_BAR = 0.5

/** Pages of the console of a network of a million nodes, on both engines. */
export const lists: Bench = {
  name: 'lists',
  says: `GET /admin/nodes with ${ROWS} nodes (--entries), on PostgreSQL and SQLite: ${BOUND_MS} ms over the slowest 95th percentile (1)`,
  run: (options) => measureLists(options, fillNodes, NODE_PAGES),
  cases: {
    agents: {
      says: 'the same of GET /admin/agents and /admin/agents/capabilities',
      run: (options) => measureLists(options, fillAgents, AGENT_PAGES),
    },
    read: {
      says: `operator-signed GET ${HISTORY} against body read, one Ed25519 verify and one nonce insert (${READ_BAR})`,
      run: measureRead,
    },
  },
}

async function measureLists(
  options: BenchOptions,
  fill: (database: Database, rows: number) => Promise<void>,
  pages: typeof NODE_PAGES,
): Promise<BenchResult> {
  const rows = options.entries ?? ROWS
  const times: Record<string, Record<string, number>> = {}
  for (const database of [await createPostgres(options.cleanup), createSqlite(options.directory)]) {
    const { network, server } = await openAuthority(options, { database })
    await fill(database, rows)
    options.progress(`${database.kind}: ${rows} rows`)
    const own: Record<string, number> = {}
    for (const [path, queries] of pages)
      for (const [name, query] of Object.entries(queries)) {
        own[name] = await measurePage(network, server.port, path, query)
        options.progress(`${database.kind}: ${name} ${own[name]} ms`)
      }
    times[database.kind] = own
  }
  const slowest = Math.max(...Object.values(times).flatMap((own) => Object.values(own)))
  return { ratio: round(BOUND_MS / slowest), bar: 1, rows, ...times }
}

/** Signed reads one after the other. Returns their 95th percentile in milliseconds. */
async function measurePage(
  network: BenchNetwork,
  port: number,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<number> {
  const plan = operatorPlan(network, path)
  const signer = await seedSigner(plan.keyId, plan.seed)
  const members = Object.fromEntries(Object.entries(query).map(([member, value]) => [member, [value]]))
  const url = `http://${HOST}:${port}${path}?${new URLSearchParams(query).toString()}`
  const times: number[] = []
  for (let call = 0; call < CALLS; call += 1) {
    const headers = { ...(await signOperatorRequest({ ...operatorRequest(plan), query: members }, signer)) }
    const started = performance.now()
    const answer = await fetch(url, { headers })
    await answer.text()
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`)
    times.push(performance.now() - started)
  }
  // The first call plans and fills caches.
  return round(times.slice(1).toSorted((a, b) => a - b)[Math.floor(CALLS * 0.95) - 1] ?? 0, 1)
}

function operatorPlan({ audience, operator }: BenchNetwork, path: string): OperatorPlan {
  return { kind: 'operator', path, audience, keyId: operator.keyId, seed: operator.seed }
}

/** A signed read with replay protection, against the framework with one bare verification and one bare nonce insert. */
async function measureRead(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, directory } = options
  const { network, database, server: postgres } = await openAuthority(options)
  const plan = operatorPlan(network, HISTORY)
  const sign = await operatorHeaders(plan)
  const bareDatabase = await createPostgres(cleanup)
  const facts = { network, database: createSqlite(directory), profileDirectory: undefined }
  const sqlite = await startAuthority(facts, cleanup)
  // The first read of the policy creates the only version in the history.
  for (const server of [postgres, sqlite]) await copyDocument(server, '/policy')
  const document = await copyDocument(postgres, HISTORY, await sign())
  const signed = { ...operatorRequest(plan), key_id: plan.keyId }
  const work = { messageBytes: operatorBytes(signed).length, databaseUrl: bareDatabase.url }
  const baseline = await startBaseline({ documents: [document], work }, cleanup)
  await requireSameResponse(postgres, baseline, HISTORY, sign)
  const generator = LoadGenerator.open(cleanup)
  const servers = Object.entries({ baseline, postgres, sqlite })
  const contenders = servers.map(([name, server]) => comparedServer(name, server, plan, generator))
  const own = [process.pid, generator.pid, ...servers.map(([, { pid }]) => pid)]
  const ownPids = () => [...own, ...postgresPids([database.name, bareDatabase.name])]
  const [rounds] = await measure([contenders], { ...options, ownPids })
  if (rounds === undefined) throw new Error('nothing was measured')
  const onPostgres = ratioFigures(rounds, 'postgres', 'baseline')
  return {
    ratio: onPostgres.ratio,
    bar: READ_BAR,
    ...roundFigures([rounds]),
    bytes: Buffer.byteLength(document.body),
    signed_bytes: work.messageBytes,
    postgres: onPostgres,
    sqlite: ratioFigures(rounds, 'sqlite', 'baseline'),
    contenders: Object.fromEntries(contenders.map(({ name }) => [name, serverFigures(rounds, name)])),
  }
}

const NODE_CAPABILITIES = `'["payments.read"]'`

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
        select 'key-' || n, 'agent-' || n, ${host}, ${descriptorOf(NODE_CAPABILITIES, host, now - HOUR)}, ${NODE_CAPABILITIES}, ${at(now - HOUR)}, ${at(now + DAY / 2n - HOUR)}, 1 from ${agents}`)
      await execute(
        `insert into agent_capabilities (capability, node_public_key) select 'payments.read', 'key-' || n from ${agents}`,
      )
    }
    await execute(`insert into agent_capability_counts (capability, agents) select 'payments.read', ${Math.floor(nodes / 5)}
      where true on conflict (capability) do update set agents = agent_capability_counts.agents + excluded.agents`)
    await execute('analyze')
  })
}

/** The text of the descriptor of agent n, in SQL. Its signature does not verify. */
function descriptorOf(capabilities: string, host: string, now: bigint): string {
  return `'{"agent_id":"agent-' || n || '","capabilities":' || ${capabilities} || ',"endpoint":{"host":"' || ${host} || '","port":443,"scheme":"https"},"expires_at":"${writeInstant(now + DAY / 2n)}","metadata":{},"network_name":"bench","node_public_key":"key-' || n || '","registered_at":"${writeInstant(now)}","signatures":[{"key_id":"key-' || n || '","sig":"${'x'.repeat(88)}"}]}'`
}

/** Rows like those of registrations, without signatures: three capabilities each, and three of ten nodes are silent. */
async function fillAgents(database: Database, agents: number): Promise<void> {
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
