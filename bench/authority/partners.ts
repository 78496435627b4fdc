import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { writeInstant } from '@chancery/protocol'
import { foreignFeed, type ForeignObject, foreignSovereign, foreignTreaty, wireText } from '@chancery/testkit'
import type pg from 'pg'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import type { Cleanup } from '../lib/cleanup.ts'
import { HOST } from '../lib/conditions.ts'
import { processSeconds } from '../lib/cpu.ts'
import { connect } from '../lib/databases.ts'
import { type BenchOperator, operatorOf } from '../lib/operator.ts'
import { openAuthority } from '../lib/servers.ts'
import { quantile, round } from '../lib/statistics.ts'

const PARTNERS = 1000
/** The interval within which one instance must read all of them. */
const INTERVAL_SECONDS = 300
const TREATIES_EACH = 200
const IDS_EACH = 1000
const MAX_BYTES_EACH = 40_000_000
const MAX_PATH_MS = 50
const PATHS = 200
const WAIT_SECONDS = 900

/**
 * One instance pulls all partners once, at most 8 at a time. The ratio is the number of partners it reads in 300
 * seconds to 1000. Then trust paths over reported treaties are measured, and what a partner takes in the database.
 */
export const partnerPulls: Bench = {
  name: 'partners',
  says: `pulls of ${PARTNERS} partners (--entries) with ${TREATIES_EACH} treaties and ${IDS_EACH} revocations each: partners read in ${INTERVAL_SECONDS} s over ${PARTNERS} (1); trust-path p99 at most ${MAX_PATH_MS} ms`,
  run,
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, progress } = options
  const count = options.entries ?? PARTNERS
  const settings = { NA_PARTNER_ADDRESSES: 'loopback' }
  const { network, database, server } = await openAuthority(options, { settings })
  const operator = await operatorOf(network, server.port)
  for (let i = 0; i < count; i += 1) await addPartner(operator, await startPartner(i, cleanup))
  progress(`${count} partners registered`)
  const client = await connect(database.url, cleanup)
  const before = processSeconds(server.pid)
  const started = performance.now()
  await client.query('update partners set next_pull_at = added_at')
  await waitForPulls(client, count)
  const seconds = (performance.now() - started) / 1000
  const perSecond = count / seconds
  progress(`${count} pulls in ${round(seconds, 1)} s`)
  const bytes = await bytesStored(client)
  const path = await measurePaths(`http://${HOST}:${server.port}`, count)
  const ratio = round((perSecond * INTERVAL_SECONDS) / PARTNERS, 2)
  return {
    ratio,
    bar: 1,
    holds: ratio >= 1 && path.p99_ms <= MAX_PATH_MS && bytes / count <= MAX_BYTES_EACH,
    partners: count,
    seconds: round(seconds, 1),
    pulls_per_second: round(perSecond, 2),
    authority_cpu_ms_each: round(((processSeconds(server.pid) - before) * 1000) / count, 1),
    stored_bytes_each: Math.round(bytes / count),
    reported_treaties: count * TREATIES_EACH,
    trust_path: path,
  }
}

interface Started {
  readonly name: string
  readonly url: string
  readonly rootKey: string
  readonly key: string
}

/** Everything is signed once and served from memory. */
async function startPartner(number: number, cleanup: Cleanup): Promise<Started> {
  const name = `PARTNER-${number}`
  const [root, key] = [foreignSovereign(name, `${name}-root`), foreignSovereign(name)]
  const now = BigInt(Date.now()) * 1000n
  const ids = Array.from({ length: IDS_EACH }, (_, i) => `${name}-${String(i).padStart(6, '0')}`)
  const treaties = Array.from({ length: TREATIES_EACH }, (_, i) =>
    foreignTreaty(key, { sovereign_id: `FAR-${i}`, publicKey: key.publicKey }, now, { treaty_id: `${name}-t${i}` }),
  )
  const documents: Readonly<Record<string, ForeignObject>> = {
    '/genesis': root.sign({
      network_name: name,
      network_version: 'v0.1',
      root_public_key: root.publicKey,
      network_authority: {
        public_key: key.publicKey,
        valid_from: writeInstant(now - 3_600_000_000n),
        valid_to: writeInstant(now + 90n * 86_400_000_000n),
      },
      allowed_crypto_suites: ['ed25519', 'x25519'],
      allowed_transports: ['quic', 'wireguard'],
      policy_manifest: { hash: 'sha256:placeholder', url: null },
      bootstrap_anchors: [],
    }),
    '/sovereign.json': {
      sovereign_id: name,
      root_public_key: root.publicKey,
      network_authority: { public_key: key.publicKey },
    },
    '/sovereign-revocation-feed': foreignFeed(key, 1, ids, { issued_at: writeInstant(now) }),
    '/crl': key.sign({
      crl_id: `${name}-crl`,
      sequence: 1,
      issued_at: writeInstant(now),
      next_update: writeInstant(now + 86_400_000_000n),
      issuer: key.key_id,
      revoked_certificates: [],
    }),
    '/recognition-treaties': {
      count: treaties.length,
      recognition_treaties: treaties.map((treaty) => ({ treaty, status: 'active' })),
    },
  }
  const texts = new Map(Object.entries(documents).map(([path, document]) => [path, wireText(document)]))
  const server = await serve(texts)
  cleanup.add(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { name, url, rootKey: root.publicKey, key: key.publicKey }
}

async function serve(texts: ReadonlyMap<string, string>): Promise<HttpServer> {
  const server = createServer((request, response) => {
    const text = texts.get((request.url ?? '').split('?')[0] ?? '')
    response.writeHead(text === undefined ? 404 : 200, { 'content-type': 'application/json' }).end(text ?? '{}')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return server
}

/** With an own treaty, so that its reported treaties are shown. */
async function addPartner(operator: BenchOperator, { name, url, rootKey, key }: Started): Promise<void> {
  await operator.post('/admin/partners', {
    url,
    root_public_key: rootKey,
    sovereign_id: name,
    allow_http: true,
    import_feeds: 'on',
    interval_seconds: 86_400,
    defer: true,
  })
  await operator.post('/admin/recognition-treaties', {
    subject_sovereign_id: name,
    subject_public_keys: [key],
    scope: { allowed_roles: ['role:client'] },
  })
}

async function waitForPulls(client: pg.Client, count: number): Promise<void> {
  const end = performance.now() + WAIT_SECONDS * 1000
  for (;;) {
    const { rows } = await client.query<{ good: string; failed: string }>(
      'select count(last_good_pull_at) as good, count(last_pull_at) - count(last_good_pull_at) as failed from partners',
    )
    if (Number(rows[0]?.failed) > 0) throw new Error(`${rows[0]?.failed ?? ''} pulls failed`)
    if (Number(rows[0]?.good) === count) return
    if (performance.now() > end) throw new Error('the partners were not read in time')
    await pause(100)
  }
}

/** Texts of feeds and lists, facts, and reported treaties. */
async function bytesStored(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ bytes: string }>(
    "select sum(pg_total_relation_size(name::regclass)) as bytes from unnest(array['partners', 'partner_texts', 'reported_treaties']) as t(name)",
  )
  return Number(rows[0]?.bytes ?? 0)
}

async function measurePaths(url: string, count: number): Promise<{ readonly p50_ms: number; readonly p99_ms: number }> {
  const times: number[] = []
  // The first one builds the graph.
  for (let i = -1; i < PATHS; i += 1) {
    const to = `FAR-${Math.max(0, i) % TREATIES_EACH}`
    const started = performance.now()
    const answer = await fetch(`${url}/connectome/trust-path?from=PARTNER-${Math.max(0, i) % count}&to=${to}`)
    const { reason } = (await answer.json()) as { reason?: string }
    if (reason !== 'reported_treaty_path') throw new Error(`a path has the reason ${reason ?? 'none'}`)
    if (i >= 0) times.push(performance.now() - started)
  }
  const sorted = Float64Array.from(times).sort()
  return { p50_ms: round(quantile(sorted, 0.5), 1), p99_ms: round(quantile(sorted, 0.99), 1) }
}
