import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { DAY, type Instant, readInstant, seconds, writeInstant, writeSortable } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import pg from 'pg'

/**
 * Fills the PostgreSQL database of an authority with live agents of five capabilities each, the same for the same
 * count, seed and time. Postings, counters and certificates are those that registering creates. Keys and signatures are
 * invented, so these agents cannot be refreshed and do not verify.
 *
 *   npx node --conditions=development tests/tools/seed-agents.ts --database URL --count N [--seed TEXT] [--at INSTANT]
 *
 * The database must have been migrated by an authority and hold no agents. 1,000,000 take about a minute and a half.
 */
export interface SeedAgentsOptions {
  readonly database: string
  readonly count: number
  readonly seed?: string
  readonly network?: string
  /** The newest registration; the others are spread over the five minutes before. By default now. */
  readonly at?: Instant
  readonly log?: (line: string) => void
}

const SPREAD_SECONDS = 300
/** Number of agents with one rare tag. */
export const RARE_HITS = 20

/** One tag of each frequency: about a seventh, a hundredth and a thousandth of all agents, and about twenty. */
export const SEEDED_TAGS = { popular: 'popular:3', middling: 'middling:42', uncommon: 'uncommon:420', rare: 'rare:1' }

export async function seedAgents(options: SeedAgentsOptions): Promise<void> {
  const { count, seed = 'chancery', network = 'TEST-NET', log = () => undefined } = options
  const at = options.at ?? systemClock.now()
  const client = new pg.Client({ connectionString: options.database, application_name: 'seed-agents' })
  await client.connect()
  try {
    const { rows } = await client.query('select 1 from agent_registrations limit 1')
    if (rows.length > 0) throw new Error('there are agents already')
    await client.query("set synchronous_commit = off; set maintenance_work_mem = '512MB'; set work_mem = '256MB'")
    await client.query('begin')
    await client.query(PLAN, [count, seed, Math.max(1, Math.floor(count / RARE_HITS))])
    await client.query(REGISTRATIONS, [
      network,
      writeSortable(at - seconds(SPREAD_SECONDS)).slice(0, -1),
      String((SPREAD_SECONDS * 1_000_000) / count),
      writeInstant(at + DAY / 2n),
      writeSortable(at + DAY / 2n),
    ])
    log('registrations')
    // Building an index at once, in order, is many times faster than random inserts.
    await client.query('alter table agent_capabilities drop constraint agent_capabilities_key')
    await client.query(
      'insert into agent_capabilities (capability, node_public_key) select unnest(array[t1, t2, t3, t4, t5]), k from seed_agents',
    )
    await client.query(
      'alter table agent_capabilities add constraint agent_capabilities_key primary key (capability, node_public_key)',
    )
    log('postings')
    await client.query(
      'insert into agent_capability_counts (capability, agents) select capability, count(*) from agent_capabilities group by capability',
    )
    await client.query(CERTIFICATES, [writeSortable(at - DAY), writeSortable(at + 7n * DAY)])
    await client.query('commit')
    await client.query('vacuum analyze')
    log('certificates')
  } finally {
    await client.end()
  }
}

/** Returns key and tags of every agent. The tags come from digests, so they do not depend on the order in time. */
const PLAN = `
create temporary table seed_agents on commit drop as
select n, encode(h, 'base64') as k,
  'popular:' || (get_byte(h, 0) * 256 + get_byte(h, 1)) % 7 as t1,
  'middling:' || (get_byte(h, 2) * 256 + get_byte(h, 3)) % 100 as t2,
  'uncommon:' || (get_byte(h, 4) * 65536 + get_byte(h, 5) * 256 + get_byte(h, 6)) % 1000 as t3,
  'rare:' || (get_byte(h, 7) * 65536 + get_byte(h, 8) * 256 + get_byte(h, 9)) % $3::int as t4,
  'skill:' || (get_byte(h, 10) * 65536 + get_byte(h, 11) * 256 + get_byte(h, 12)) % $3::int as t5
from (select n, sha256(convert_to('agents/' || $2::text || '/' || n, 'UTF8')) as h from generate_series(1, $1::int) n) d`

const REGISTRATIONS = `
insert into agent_registrations (node_public_key, agent_id, descriptor_json, capabilities_json, registered_at, expires_at, listed)
select k, 'agent-' || n,
  '{"agent_id":"agent-' || n || '","capabilities":' || tags || ',"endpoint":{"host":"198.51.100.7","port":7448,"scheme":"wss"},"expires_at":"' || $4::text
    || '","metadata":{"model":"m-1"},"network_name":"' || $1::text || '","node_public_key":"' || k || '","registered_at":"' || at
    || '","signatures":[{"key_id":"' || k || '","sig":"' || k || k || '"}]}',
  tags, at, $5::text, 1
from (
  select n, k,
    (select '["' || string_agg(t, '","' order by t collate "C") || '"]' from unnest(array[t1, t2, t3, t4, t5]) t) as tags,
    to_char($2::text::timestamp + floor(n * $3::text::float8) * interval '1 microsecond', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"') as at
  from seed_agents
) a order by n`

const CERTIFICATES = `
insert into issued_certs (cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, status)
select 'seeded-' || n, k, '{}', '["role:client"]', $1::text, $2::text, 192, 'issued' from seed_agents`

async function main(): Promise<number> {
  const options = {
    database: { type: 'string' },
    count: { type: 'string', default: '' },
    seed: { type: 'string', default: 'chancery' },
    network: { type: 'string', default: 'TEST-NET' },
    at: { type: 'string' },
  } as const
  const { values } = parseArgs({ options })
  const { database, seed, network } = values
  const at = values.at === undefined ? systemClock.now() : readInstant(values.at)
  if (database === undefined || at === undefined || !/^[1-9]\d{0,7}$/.test(values.count)) {
    process.stderr.write('seed-agents --database URL --count N [--seed TEXT] [--network NAME] [--at INSTANT]\n')
    return 2
  }
  const started = performance.now()
  const log = (line: string): boolean =>
    process.stdout.write(`${line} after ${((performance.now() - started) / 1000).toFixed(1)} s\n`)
  await seedAgents({ database, count: Number(values.count), seed, network, at, log })
  return 0
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = await main()
