import { heartbeatRows } from '../lib/raw-inserts.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { createPostgres } from '../lib/databases.ts'
import { makeNodes, proof, seedCertificates, seedNonces } from '../lib/test-nodes.ts'
import { createNetwork } from '../lib/network.ts'
import { measureAgainstLimit } from '../lib/node-bench.ts'
import { startAuthority } from '../lib/servers.ts'
import { measureSingleHeartbeats } from './single-heartbeats.ts'

const BAR = 0.65
const CERTIFICATES = 100_000
const NODES = 5000
const LIVE_NONCES = 1_000_000

/** Two authority processes on one database, every response after its durable commit. */
export const heartbeat: Bench = {
  name: 'heartbeat',
  says: 'POST /heartbeat with 100,000 certificates against the limit formula',
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, directory, profileDirectory } = options
  const network = await createNetwork(directory)
  const database = await createPostgres(cleanup)
  const processes = [
    await startAuthority({ network, database, profileDirectory }, cleanup),
    await startAuthority({ network, database, profileDirectory }, cleanup),
  ]
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
  const single = await measureSingleHeartbeats(database, nodes, options.seconds * 3)
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
