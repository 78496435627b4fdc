import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { writeSortable } from '@chancery/protocol'
import { startTemporaryPostgres } from '@chancery/testkit'
import pg from 'pg'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { LoadGenerator } from '../lib/load.ts'
import { createNetwork } from '../lib/network.ts'
import { startAuthority } from '../lib/servers.ts'
import { round } from '../lib/statistics.ts'
import { type BenchNode, makeNodes, proof, seedCertificates } from '../lib/test-nodes.ts'

const BYTES = 300
const CERTIFICATES = 100_000
const BEATS = 20_000
/** Few: the bytes are measured, not the rate. */
const CONNECTIONS = 8
/** Gathered rows are stored within a second. */
const STORED_AFTER_MS = 2000

/** On a separate PostgreSQL server: the log is that of the whole server. */
export const heartbeatWal: Bench = {
  name: 'heartbeat-wal',
  says: 'bytes in the write-ahead log for each gathered heartbeat, with and without full pages',
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, directory, profileDirectory } = options
  const server = await startTemporaryPostgres()
  cleanup.add(() => server.remove())
  const database = { kind: 'postgres' as const, url: server.url, name: 'postgres' }
  const network = await createNetwork(directory)
  const settings = { NA_HEARTBEAT_MODE: 'gathered', NA_HEARTBEAT_SECONDS: '300' }
  const authority = await startAuthority({ network, database, profileDirectory, settings }, cleanup)
  // Each node sends one heartbeat in a pass, so that each heartbeat is a stored row.
  const nodes = makeNodes(BEATS)
  await seedCertificates(database.url, nodes, CERTIFICATES)
  const generator = new LoadGenerator()
  cleanup.add(() => generator.close())
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  cleanup.add(() => client.end())
  const pass = async (): Promise<{ readonly bytes: number; readonly rate: number; readonly p99: number }> => {
    const file = join(directory, 'bodies.txt')
    await writeFile(file, nodes.map(beatOf).join('\n'))
    const before = await readLog(client)
    const plan = { kind: 'bodies' as const, path: '/heartbeat', file }
    const load = { plan, host: HOST, port: authority.port, connections: CONNECTIONS }
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
    certificates: CERTIFICATES,
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
