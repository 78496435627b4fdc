import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { postgresPids, processSeconds } from '../lib/cpu.ts'
import type { Database } from '../lib/databases.ts'
import type { BenchNode } from '../lib/test-nodes.ts'
import { round, sum } from '../lib/statistics.ts'

const CONNECTIONS = 8
const EXPIRES_AT = '2099-01-01T00:00:00.000000Z'

/**
 * Processor time of the database per heartbeat with one transaction each, in microseconds: reads the certificate,
 * spends the nonce and writes liveness, all by named prepared statements. Batches are compared with this.
 */
export async function measureSingleHeartbeats(
  database: Database,
  nodes: readonly BenchNode[],
  seconds: number,
): Promise<number> {
  const clients = await Promise.all(Array.from({ length: CONNECTIONS }, () => connect(database.url)))
  try {
    const until = async (deadline: number): Promise<number> =>
      sum(await Promise.all(clients.map((client, index) => beat(client, nodes, index, deadline))))
    await until(performance.now() + 300)
    const before = databaseSeconds(database)
    const beats = await until(performance.now() + seconds * 1000)
    return round(((databaseSeconds(database) - before) * 1_000_000) / beats, 1)
  } finally {
    await Promise.all(clients.map((client) => client.end()))
  }
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  return client
}

/** Each connection has separate nodes, so that none waits for a row lock. */
async function beat(client: pg.Client, nodes: readonly BenchNode[], index: number, deadline: number): Promise<number> {
  const own = nodes.filter((_, at) => at % CONNECTIONS === index)
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
