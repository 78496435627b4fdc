import { writeSortable } from '@chancery/protocol'
import pg from 'pg'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { createPostgres } from '../lib/databases.ts'
import { createNetwork } from '../lib/network.ts'
import { startAuthority } from '../lib/servers.ts'
import { median, round } from '../lib/statistics.ts'
import { makeNodes, seedCertificates } from '../lib/test-nodes.ts'

const ROWS = 1_000_000
const READS = 20

/** The count of active nodes in a network of a million, by its route and by reading all rows. */
export const activeNodes: Bench = {
  name: 'active-nodes',
  says: 'GET /nodes with 1,000,000 active nodes against a count of all rows',
  run,
}

async function run({ cleanup, directory, profileDirectory, progress }: BenchOptions): Promise<BenchResult> {
  const network = await createNetwork(directory)
  const database = await createPostgres(cleanup)
  const { port } = await startAuthority({ network, database, profileDirectory }, cleanup)
  await seedCertificates(database.url, makeNodes(1), ROWS)
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  cleanup.add(() => client.end())
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
