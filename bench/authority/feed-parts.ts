import { setTimeout as pause } from 'node:timers/promises'
import { type FeedIndex, type JsonValue, readFeedIndex, seedSigner } from '@chancery/protocol'
import { createAuthorityClient, readWholeFeed } from '@chancery/sdk/authority'
import type { BenchOptions, BenchResult, Measurement } from '../lib/bench.ts'
import { HOST } from '../lib/conditions.ts'
import { postgresPids, processSeconds } from '../lib/cpu.ts'
import { createPostgres, type Database, withClient } from '../lib/databases.ts'
import { type BenchNetwork, createNetwork } from '../lib/network.ts'
import { type BenchOperator, operatorOf } from '../lib/operator.ts'
import { type Server, startAuthority } from '../lib/servers.ts'
import { median, round } from '../lib/statistics.ts'

/** Milliseconds of a core for one version of the plain form with 50,000 ids. */
const BOUND_MS = 300
const PLAIN_IDS = 50_000
const ALL_IDS = 1_000_000
/** Seconds for the first import of a million ids. */
const IMPORT_SECONDS = 300
const AT_ONCE = 5000
/** Seconds after which the version that writes all parts counts as failed. */
const REWRITE_SECONDS = 120

/**
 * What one revocation costs at 50,000 and at a million ids, and what a reader pays. Processor time of the authority is
 * compared with the bound; that of PostgreSQL is stated, too.
 */
export const feedParts: Measurement = {
  says: `one version of the own revocation feed: ${BOUND_MS} ms over the processor time of the authority at 50,000 ids (1); then ${ALL_IDS} ids (--entries) in parts, and their import`,
  run,
}

interface Subject {
  readonly network: BenchNetwork
  readonly database: Database
  readonly server: Server
  readonly operator: BenchOperator
  readonly url: string
}

async function run(options: BenchOptions): Promise<BenchResult> {
  const entries = options.entries ?? ALL_IDS
  const subject = await openSubject(options)
  await fill(subject.database, 0, PLAIN_IDS)
  await revoke(subject, await issue(subject))
  const plain = await measureVersions(subject, options.rounds)
  options.progress(`${PLAIN_IDS} ids: ${JSON.stringify(plain)}`)
  const figures = entries > PLAIN_IDS ? await measureWhole(subject, entries, options) : {}
  return {
    ratio: round(BOUND_MS / plain.authority_cpu_ms, 2),
    bar: 1,
    holds: plain.authority_cpu_ms <= BOUND_MS,
    plain,
    ...figures,
  }
}

async function openSubject({ cleanup, directory, profileDirectory }: BenchOptions, name?: string): Promise<Subject> {
  const network = await createNetwork(directory, name)
  const database = await createPostgres(cleanup)
  const server = await startAuthority({ network, database, profileDirectory }, cleanup)
  const operator = await operatorOf(network, server.port)
  return { network, database, server, operator, url: `http://${HOST}:${server.port}` }
}

/** Rows like those of revoked attestations, without signatures: the feed reads id, reason and end only. */
async function fill({ url }: Database, from: number, to: number): Promise<void> {
  await withClient(url, async (client) => {
    const text = `{"expires_at":"2099-01-01T00:00:00Z","more":"${'x'.repeat(600)}"}`
    const now = new Date().toISOString().slice(0, 19)
    for (let first = from; first < to; first += AT_ONCE)
      await client.query(
        `insert into membership_attestations
        (attestation_id, issuer_sovereign_id, subject_id, status, attestation_json, issued_at, revoked_at, revocation_reason)
        select gen_random_uuid()::text, 'bench-network', 'subject-' || n, 'revoked', $1, $2, to_char(now() at time zone 'utc' - interval '1 hour' + n * interval '1 microsecond', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'), 'cessation_of_operation'
        from generate_series($3::int, $4::int) as t(n)`,
        [text, `${now}.000000Z`, first, Math.min(first + AT_ONCE, to) - 1],
      )
    await client.query(
      `insert into own_feed_ids (attestation_id, part_key, revoked_at, reason, ends_at, end_known, pruned)
      select attestation_id, get_byte(sha256(attestation_id::bytea), 0), revoked_at, revocation_reason,
        '2099-01-01T00:00:00.000000Z', 1, 0
      from membership_attestations where status = 'revoked' on conflict do nothing`,
    )
    // The next version writes all parts.
    await client.query('delete from own_feed_parts')
    await client.query('analyze')
  })
}

async function issue({ operator }: Subject): Promise<string> {
  const body = { subject_id: 'bench-subject', roles: ['role:client'], validity_hours: 24 }
  const { attestation_id: id } = await operator.post('/admin/attestations', body)
  if (typeof id !== 'string') throw new Error('no attestation was issued')
  return id
}

async function revoke({ operator }: Subject, id: string): Promise<void> {
  await operator.post(`/admin/attestations/${id}/revoke`, { reason: 'cessation_of_operation' })
}

interface Versions {
  readonly authority_cpu_ms: number
  readonly postgres_cpu_ms: number
  readonly answer_ms: number
  readonly versions: number
}

/** Mean processor time of one revocation with its version, and the median time of its answer. */
async function measureVersions(subject: Subject, versions: number): Promise<Versions> {
  const ids: string[] = []
  for (let i = 0; i <= versions; i += 1) ids.push(await issue(subject))
  const [first = '', ...measured] = ids
  await revoke(subject, first)
  const pids = postgresPids([subject.database.name])
  // A back end that has ended meanwhile does not count.
  const used = (): number => pids.reduce((sum, pid) => sum + processSeconds(pid), 0)
  const [authority, postgres] = [processSeconds(subject.server.pid), used()]
  const times: number[] = []
  for (const id of measured) {
    const started = performance.now()
    await revoke(subject, id)
    times.push(performance.now() - started)
  }
  const each = (seconds: number): number => round((seconds * 1000) / versions, 1)
  return {
    authority_cpu_ms: each(processSeconds(subject.server.pid) - authority),
    postgres_cpu_ms: each(used() - postgres),
    answer_ms: round(median(times), 1),
    versions,
  }
}

async function measureWhole(
  subject: Subject,
  entries: number,
  options: BenchOptions,
): Promise<Readonly<Record<string, unknown>>> {
  await fill(subject.database, PLAIN_IDS, entries)
  options.progress(`${entries} ids stored`)
  const rewrite = await rewriteAll(subject, entries)
  const before = await readIndex(subject)
  await revoke(subject, await issue(subject))
  const after = await readIndex(subject)
  const changed = after.index.parts.filter(({ digest }, at) => digest !== before.index.parts[at]?.digest)
  const part = await fetch(`${subject.url}/sovereign-revocation-feed/parts/${changed[0]?.part ?? 0}`)
  // Read now: the authority closes the connection of a caller that does not read.
  const { byteLength } = await part.arrayBuffer()
  const versions = await measureVersions(subject, options.rounds)
  options.progress(`${entries} ids: ${JSON.stringify(versions)}`)
  return {
    whole: {
      ids: after.index.total_ids,
      parts: after.index.parts.length,
      index_bytes: after.bytes,
      part_bytes: byteLength,
      rewrite_seconds: rewrite,
      parts_changed_by_one_revocation: changed.length,
      ...versions,
    },
    import: await measureImport(subject, options),
  }
}

/** The version that writes all parts may take longer than its request: it is still committed. */
async function rewriteAll(subject: Subject, entries: number): Promise<number> {
  const started = performance.now()
  const seconds = (): number => (performance.now() - started) / 1000
  const id = await issue(subject)
  try {
    await revoke(subject, id)
  } catch (error) {
    if (!(error instanceof Error && error.message.includes('"reason":"deadline"'))) throw error
  }
  while ((await readIndex(subject)).index.total_ids < entries) {
    if (seconds() > REWRITE_SECONDS) throw new Error(`the parts are not written after ${REWRITE_SECONDS} s`)
    await pause(200)
  }
  return round(seconds(), 1)
}

async function readIndex({ url }: Subject): Promise<{ readonly index: FeedIndex; readonly bytes: number }> {
  const text = await (await fetch(`${url}/sovereign-revocation-feed/index`)).text()
  return { index: readFeedIndex(JSON.parse(text) as JsonValue), bytes: text.length }
}

/** A second authority imports everything, while a caller reads /healthz of it. */
async function measureImport(
  { url, network }: Subject,
  options: BenchOptions,
): Promise<Readonly<Record<string, unknown>>> {
  const keys = [network.authority.publicKey]
  const read = performance.now()
  const { inParts } = await readWholeFeed(url, keys)
  const readSeconds = (performance.now() - read) / 1000
  if (inParts === undefined) throw new Error('the feed has no index')
  const importer = await openSubject(options, 'importing-network')
  const signer = await seedSigner(importer.network.operator.keyId, importer.network.operator.seed)
  const client = createAuthorityClient({
    url: importer.url,
    operator: { signer, audience: importer.network.audience },
    timeoutMs: IMPORT_SECONDS * 1000,
    budgetMs: IMPORT_SECONDS * 1000,
  })
  const waits: number[] = []
  let isDone = false
  const probe = (async () => {
    while (!isDone) {
      const asked = performance.now()
      await (await fetch(`${importer.url}/healthz`)).text()
      waits.push(performance.now() - asked)
    }
  })()
  const started = performance.now()
  const done = await client.revocationFeeds.importParts({ ...inParts, issuer_public_keys: keys })
  const seconds = (performance.now() - started) / 1000
  isDone = true
  await probe
  return {
    read_seconds: round(readSeconds, 1),
    seconds: round(seconds, 1),
    complete: done.complete,
    holds: done.complete && seconds <= IMPORT_SECONDS,
    healthz_slowest_ms: round(Math.max(...waits), 1),
  }
}
