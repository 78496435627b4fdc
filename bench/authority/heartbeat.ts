import { randomBytes } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { writeSortable } from '@chancery/protocol'
import { startTemporaryPostgres } from '@chancery/testkit'
import type pg from 'pg'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { postgresPids, processSeconds } from '../lib/cpu.ts'
import { connect, type Database } from '../lib/databases.ts'
import { LoadGenerator } from '../lib/load.ts'
import { measureAgainstLimit } from '../lib/node-bench.ts'
import { heartbeatRows } from '../lib/raw-inserts.ts'
import { openAuthority } from '../lib/servers.ts'
import { median, round, sum } from '../lib/statistics.ts'
import { type BenchNode, makeNodes, proof, seedCertificates, seedNonces } from '../lib/test-nodes.ts'

const BAR = 0.65
const CERTIFICATES = 100_000
const NODES = 5000
const LIVE_NONCES = 1_000_000

/** Two authority processes on one database, every response after its durable commit. */
export const heartbeat: Bench = {
  name: 'heartbeat',
  says: 'POST /heartbeat with 100,000 certificates against the limit formula',
  run,
  cases: {
    wal: {
      // On a separate PostgreSQL server: the log is that of the whole server.
      says: 'bytes in the write-ahead log for each gathered heartbeat, with and without full pages',
      run: runWal,
    },
    active: { says: 'GET /nodes with 1,000,000 active nodes against a count of all rows', run: runActiveNodes },
  },
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { database, processes } = await openAuthority(options, { processes: 2 })
  const nodes = makeNodes(NODES)
  await seedCertificates(database.url, nodes, CERTIFICATES)
  let at = 0
  const work = {
    path: '/heartbeat',
    bodies: async (count: number) =>
      Array.from({ length: count }, () => {
        const node = nodes[(at += 1) % nodes.length]
        return node === undefined ? '' : proof({ cert_id: node.certId, status: 'healthy' }, node)
      }),
    database,
    processes,
    statement: heartbeatRows(nodes.map((node) => node.certId)),
    batch: 100,
    verifications: 1,
    signatures: 0,
    perSecond: 12_000,
  }
  const fresh = await measureAgainstLimit(work, options)
  const single = await measureSingleHeartbeats(database, nodes, options)
  await seedNonces(database.url, LIVE_NONCES)
  const full = await measureAgainstLimit(work, { ...options, rounds: Math.max(3, Math.ceil(options.rounds / 2)) })
  return {
    bar: BAR,
    certificates: CERTIFICATES,
    ...fresh,
    database_cpu: {
      batched_us: fresh.database_cpu_us,
      one_transaction_each_us: single,
      ratio: Number((fresh.database_cpu_us / single).toFixed(3)),
    },
    with_live_nonces: { nonces: LIVE_NONCES, ...full, to_fresh: Number((full.rate / fresh.rate).toFixed(3)) },
  }
}

const SINGLE_CONNECTIONS = 8
const EXPIRES_AT = '2099-01-01T00:00:00.000000Z'

/**
 * Processor time of the database per heartbeat with one transaction each, in microseconds: reads the certificate,
 * spends the nonce and writes liveness, all by named prepared statements. Batches are compared with this.
 */
async function measureSingleHeartbeats(
  database: Database,
  nodes: readonly BenchNode[],
  { seconds, cleanup }: BenchOptions,
): Promise<number> {
  const clients = await Promise.all(Array.from({ length: SINGLE_CONNECTIONS }, () => connect(database.url, cleanup)))
  const until = async (deadline: number): Promise<number> =>
    sum(await Promise.all(clients.map((client, index) => beat(client, nodes, index, deadline))))
  await until(performance.now() + 300)
  const before = databaseSeconds(database)
  const beats = await until(performance.now() + seconds * 3000)
  return round(((databaseSeconds(database) - before) * 1_000_000) / beats, 1)
}

/** Each connection has separate nodes, so that none waits for a row lock. */
async function beat(client: pg.Client, nodes: readonly BenchNode[], index: number, deadline: number): Promise<number> {
  const own = nodes.filter((_, at) => at % SINGLE_CONNECTIONS === index)
  let beats = 0
  for (; performance.now() < deadline; beats += 1) {
    const node = own[beats % own.length]
    if (node === undefined) throw new Error('fewer nodes than connections')
    await client.query('begin')
    await client.query({
      name: 'single-read',
      text:
        'select node_public_key, status, issued_at, expires_at, revoke_after, exists (select 1 from issued_certs k ' +
        "where k.node_public_key = $2 and k.revocation_reason = 'key_compromise') as compromised from issued_certs where cert_id = $1",
      values: [node.certId, node.publicKey],
    })
    await client.query({
      name: 'single-claim',
      text: 'insert into nonces (claim, expires_at) values ($1, $2) on conflict do nothing',
      values: [randomBytes(16), EXPIRES_AT],
    })
    await client.query({
      name: 'single-touch',
      text: "update node_liveness set last_heartbeat = $2, heartbeat_status = 'ok', remote_addr = '127.0.0.1' where cert_id = $1",
      values: [node.certId, new Date().toISOString()],
    })
    await client.query('commit')
  }
  return beats
}

function databaseSeconds(database: Database): number {
  return sum(postgresPids([database.name]).map(processSeconds))
}

const BYTES = 300
const WAL_CERTIFICATES = 100_000
const BEATS = 20_000
/** Few: the bytes are measured, not the rate. */
const WAL_CONNECTIONS = 8
/** Gathered rows are stored within a second. */
const STORED_AFTER_MS = 2000

async function runWal(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, directory } = options
  const server = await startTemporaryPostgres()
  cleanup.add(() => server.remove())
  const database = { kind: 'postgres' as const, url: server.url, name: 'postgres' }
  const settings = { NA_HEARTBEAT_MODE: 'gathered', NA_HEARTBEAT_SECONDS: '300' }
  const { server: authority } = await openAuthority(options, { database, settings })
  // Each node sends one heartbeat in a pass, so that each heartbeat is a stored row.
  const nodes = makeNodes(BEATS)
  await seedCertificates(database.url, nodes, WAL_CERTIFICATES)
  const generator = LoadGenerator.open(cleanup)
  const client = await connect(database.url, cleanup)
  const pass = async (): Promise<{ readonly bytes: number; readonly rate: number; readonly p99: number }> => {
    const file = join(directory, 'bodies.txt')
    await writeFile(file, nodes.map(beatOf).join('\n'))
    const before = await readLog(client)
    const plan = { kind: 'bodies' as const, path: '/heartbeat', file }
    const load = { plan, host: HOST, port: authority.port, connections: WAL_CONNECTIONS }
    const { requests, rate, p99Ms } = await generator.run({ ...load, seconds: 240, maxRequests: BEATS })
    await pause(STORED_AFTER_MS)
    const bytes = ((await readLog(client)) - before) / requests
    options.progress(`${requests} heartbeats, ${round(rate)} a second, ${round(bytes)} bytes each`)
    return { bytes: round(bytes, 1), rate: round(rate), p99: round(p99Ms, 2) }
  }
  // The rows of the seed are silent: the first heartbeats would remove marks. The table is written again as it grows.
  const now = writeSortable(BigInt(Date.now()) * 1000n)
  await client.query('update node_liveness set last_heartbeat = $1, silent_since = null', [now])
  await client.query('vacuum full analyze node_liveness')
  await client.query('checkpoint')
  const afterCheckpoint = await pass()
  const [first, second] = [await pass(), await pass()]
  const stored = await countStored(client)
  if (stored !== BEATS) throw new Error(`${stored} of ${BEATS} rows are stored`)
  const bytes = Math.max(first.bytes, second.bytes)
  return {
    bar: 1,
    ratio: round(BYTES / bytes, 3),
    certificates: WAL_CERTIFICATES,
    heartbeats: BEATS,
    bytes_without_full_pages: [first.bytes, second.bytes],
    bytes_after_checkpoint: afterCheckpoint.bytes,
    rates: [afterCheckpoint.rate, first.rate, second.rate],
    p99_ms: [afterCheckpoint.p99, first.p99, second.p99],
  }
}

function beatOf(node: BenchNode): string {
  return proof({ cert_id: node.certId, status: 'healthy', genesis_digest: 'ab'.repeat(32) }, node)
}

async function readLog(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ at: string }>("select pg_current_wal_lsn() - '0/0'::pg_lsn as at")
  return Number(rows[0]?.at)
}

async function countStored(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ count: string }>(
    'select count(*) from node_liveness where signed_at is not null and silent_since is null',
  )
  return Number(rows[0]?.count)
}

const ROWS = 1_000_000
const READS = 20

async function runActiveNodes(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, progress } = options
  const { database, server } = await openAuthority(options)
  const { port } = server
  await seedCertificates(database.url, makeNodes(1), ROWS)
  const client = await connect(database.url, cleanup)
  const now = writeSortable(BigInt(Date.now()) * 1000n)
  await client.query('update node_liveness set last_heartbeat = $1, silent_since = null', [now])
  await client.query('vacuum analyze node_liveness')
  progress(`${ROWS} rows`)
  const byRows: number[] = []
  const byRoute: number[] = []
  for (let read = 0; read < READS; read += 1) {
    byRows.push(await timed(() => client.query(COUNT_ROWS, [now.slice(0, 4)])))
    byRoute.push(
      await timed(async () => {
        const answer = await fetch(`http://${HOST}:${port}/nodes`)
        const { count } = (await answer.json()) as { readonly count: number }
        if (count !== ROWS) throw new Error(`${count} of ${ROWS} nodes are counted`)
      }),
    )
  }
  const [rows, route] = [median(byRows), median(byRoute)]
  return {
    bar: 1,
    ratio: round(rows / route),
    nodes: ROWS,
    by_rows_ms: round(rows, 1),
    by_route_ms: round(route, 1),
    slowest_route_ms: round(Math.max(...byRoute), 1),
  }
}

const COUNT_ROWS = `select count(*) from (select distinct coalesce(node_public_key, cert_id) from node_liveness
  where last_heartbeat > $1 and revoke_after is null) keys`

async function timed(work: () => Promise<unknown>): Promise<number> {
  const started = performance.now()
  await work()
  return performance.now() - started
}
