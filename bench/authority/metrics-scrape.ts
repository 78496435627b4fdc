import { setTimeout as pause } from 'node:timers/promises'
import { DAY, readInstant, writeSortable } from '@chancery/protocol'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { type Database, createPostgres, createSqlite, onDatabase } from '../lib/databases.ts'
import { createNetwork } from '../lib/network.ts'
import { startAuthority } from '../lib/servers.ts'
import { median, round } from '../lib/statistics.ts'

/** Maximum time of a scrape, independent of the number of certificates. */
const BOUND_MS = 50
const CERTIFICATES = 1_000_000
const ACTIVE_NODES = 20_000
const REVOKED = 100_000
/** Small enough that the jobs of the authority can write in between. */
const AT_ONCE = 2000
const SCRAPES = 100

/** GET /metrics of an authority that has issued a million certificates, on both engines. */
export const metricsScrape: Bench = {
  name: 'metrics-scrape',
  says: `GET /metrics with ${CERTIFICATES} certificates (--entries), on PostgreSQL and SQLite: ${BOUND_MS} ms over the slower median (1)`,
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, directory } = options
  const certificates = options.entries ?? CERTIFICATES
  const active_nodes = Math.max(0, Math.min(ACTIVE_NODES, certificates - REVOKED))
  const postgres = await measure(options, await createPostgres(cleanup), certificates)
  const sqlite = await measure(options, createSqlite(directory), certificates)
  const ratio = round(BOUND_MS / Math.max(postgres.median_ms, sqlite.median_ms))
  return { ratio, bar: 1, certificates, active_nodes, postgres, sqlite }
}

async function measure(
  { cleanup, directory, profileDirectory, progress }: BenchOptions,
  database: Database,
  certificates: number,
) {
  const network = await createNetwork(directory)
  const { port } = await startAuthority({ network, database, profileDirectory }, cleanup)
  await fill(database, certificates)
  progress(`${database.kind}: ${certificates} certificates`)
  const first = await scrape(port)
  const times: number[] = []
  for (let count = 0; count < SCRAPES; count += 1) {
    times.push((await scrape(port)).ms)
    // Not synchronous with any job.
    await pause(37)
  }
  const issued = /^chancery_issued_certs (\d+)$/m.exec(first.text)?.[1]
  const revoked = /^chancery_revoked_certs (\d+)$/m.exec(first.text)?.[1]
  if (Number(issued) !== certificates || Number(revoked) !== Math.min(REVOKED, certificates))
    throw new Error(`${database.kind}: counted ${issued} certificates, ${revoked} revoked`)
  return { first_ms: round(first.ms, 1), median_ms: round(median(times), 1), slowest_ms: round(Math.max(...times), 1) }
}

async function scrape(port: number): Promise<{ readonly ms: number; readonly text: string }> {
  const started = performance.now()
  const answer = await fetch(`http://${HOST}:${port}/metrics`)
  const text = await answer.text()
  if (answer.status !== 200) throw new Error(`/metrics answered ${answer.status}`)
  return { ms: performance.now() - started, text }
}

const COLUMNS = '(cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, status)'
const LIVENESS =
  '(cert_id, node_public_key, last_heartbeat, heartbeat_status, remote_addr) select cert_id, node_public_key'

/**
 * Inserts rows like those of joins, without signatures; the first ones are revoked, the last ones are of active nodes.
 */
async function fill(database: Database, certificates: number): Promise<void> {
  const now = readInstant(new Date().toISOString()) ?? 0n
  const [issued, ends] = [writeSortable(now), writeSortable(now + 7n * DAY)]
  const text = 'x'.repeat(600)
  const numbers = (from: number, to: number): string =>
    database.kind === 'postgres'
      ? `select n from generate_series(${from}, ${to}) as t(n)`
      : `with recursive t(n) as (select ${from} union all select n + 1 from t where n < ${to}) select n from t`
  await onDatabase(database, async (execute) => {
    for (let from = 1; from <= certificates; from += AT_ONCE) {
      const to = Math.min(from + AT_ONCE - 1, certificates)
      await execute(
        `insert into issued_certs ${COLUMNS} select 'cert-' || n, 'key-' || n, '${text}', '[]', '${issued}', '${ends}', 168, case when n <= ${REVOKED} then 'revoked' else 'issued' end from (${numbers(from, to)}) as numbered`,
      )
    }
    await execute(
      `insert into node_liveness ${LIVENESS}, '${issued}', 'ok', '192.0.2.1' from issued_certs where status = 'issued' limit ${ACTIVE_NODES}`,
    )
    await execute('analyze')
  })
}
