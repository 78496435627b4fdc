import { request } from 'node:http'
import { gunzipSync } from 'node:zlib'
import { CompactCrl, DAY, HOUR, type JsonObject, writeInstant, writeSortable } from '@chancery/protocol'
import type { BaselineDocument } from '../lib/baseline-task.ts'
import type { Bench, BenchOptions, BenchResult } from '../lib/bench.ts'
import { comparedServer, copyDocument, requireSameResponse } from '../lib/compared-servers.ts'
import { HOST } from '../lib/conditions.ts'
import { postgresPids } from '../lib/cpu.ts'
import { createPostgres, createSqlite, type Database, numbersFrom, onDatabase } from '../lib/databases.ts'
import { type RatioFigures, ratioFigures, roundFigures, serverFigures } from '../lib/figures.ts'
import { LoadGenerator } from '../lib/load.ts'
import { measure, type Rounds } from '../lib/measure.ts'
import type { BenchNetwork } from '../lib/network.ts'
import { operatorOf } from '../lib/operator.ts'
import { openAuthority, startAuthority, startBaseline } from '../lib/servers.ts'
import { round } from '../lib/statistics.ts'
import { feedParts } from './feed-parts.ts'

const BAR = 0.8
const PATHS = ['/crl', '/genesis'] as const
const ENTRIES = 500_000
const REVOKED = 100
const FLEET = 1000
const LOOP_BAR_MS = 50
/** A delta has at most this part of the bytes of the full list. */
const PART = 1 / 100
const BATCH = 100_000
/** Requests of a thousand certificates each, all at once. */
const BULK = 10
const PER_REQUEST = 1000

/** Signed public documents from memory, against the framework with constant text of the same size. */
export const published: Bench = {
  name: 'published',
  says: `GET ${PATHS.join(' and GET ')} against constant JSON of the same size; the slower one counts`,
  run: runMaterial,
  cases: {
    delta: {
      says: `a poll after ${REVOKED} revocations in a list of ${ENTRIES} (--entries): bytes and time of the delta against the full list, and the event loop of the authority`,
      run: runDelta,
    },
    feed: feedParts,
  },
}

async function runMaterial(options: BenchOptions): Promise<BenchResult> {
  const { cleanup, directory } = options
  const { network, database, server: postgres } = await openAuthority(options)
  const sqlite = await startAuthority(
    { network, database: createSqlite(directory), profileDirectory: undefined },
    cleanup,
  )
  const documents = await Promise.all(PATHS.map((path) => copyDocument(postgres, path)))
  const baseline = await startBaseline({ documents }, cleanup)
  for (const path of PATHS) await requireSameResponse(postgres, baseline, path)

  const generator = LoadGenerator.open(cleanup)
  const servers = Object.entries({ baseline, postgres, sqlite })
  const groups = PATHS.map((path) =>
    servers.map(([name, server]) => comparedServer(`${name}${path}`, server, { kind: 'plain', path }, generator)),
  )
  const own = [process.pid, generator.pid, ...servers.map(([, { pid }]) => pid)]
  const rounds = await measure(groups, { ...options, ownPids: () => [...own, ...postgresPids([database.name])] })
  return report(rounds, documents)
}

function report(groups: readonly Rounds[], documents: readonly BaselineDocument[]): BenchResult {
  const figures = PATHS.flatMap((path, index) => {
    const rounds = groups[index]
    return rounds === undefined ? [] : [{ path, rounds }]
  })
  const ratios = (server: string): Record<string, RatioFigures> =>
    Object.fromEntries(
      figures.map(({ path, rounds }) => [path, ratioFigures(rounds, `${server}${path}`, `baseline${path}`)]),
    )
  const contenders = figures.flatMap(({ path, rounds }) =>
    ['baseline', 'postgres', 'sqlite'].map((server) => [`${server}${path}`, serverFigures(rounds, `${server}${path}`)]),
  )
  const postgres = ratios('postgres')
  return {
    ratio: Math.min(...Object.values(postgres).map(({ ratio }) => ratio)),
    bar: BAR,
    ...roundFigures(groups),
    bytes: Object.fromEntries(documents.map(({ path, body }) => [path, Buffer.byteLength(body)])),
    postgres,
    sqlite: ratios('sqlite'),
    contenders: Object.fromEntries(contenders),
  }
}

/** A large list: what a poll costs after some revocations, as a delta and in full, and what it costs the authority. */
async function runDelta(options: BenchOptions): Promise<BenchResult> {
  const entries = options.entries ?? ENTRIES
  const postgres = await measureDelta(options, await createPostgres(options.cleanup), entries)
  const sqlite = await measureDelta(options, createSqlite(options.directory), entries)
  const ratio = Math.min(...[postgres, sqlite].map(({ full, delta }) => (PART * full.sent_bytes) / delta.sent_bytes))
  return { ratio: round(ratio), bar: 1, entries, loop_bar_ms: LOOP_BAR_MS, postgres, sqlite }
}

interface Poll {
  readonly sent_bytes: number
  readonly plain_bytes: number
  /** Request, decompression, rebuilding and the signature of the full list. */
  readonly ms: number
  readonly processor_ms: number
}

async function measureDelta(
  options: BenchOptions,
  database: Database,
  entries: number,
): Promise<{ readonly full: Poll; readonly delta: Poll; readonly [figure: string]: unknown }> {
  const { progress } = options
  const { network, server: authority } = await openAuthority(options, { database })
  const operator = await operatorOf(network, authority.port)
  await seed(database, network, entries)
  progress(`${database.kind}: ${entries} entries stored`)
  const revoke = (from: number, count: number, reason: string): Promise<JsonObject> =>
    operator.post('/admin/revoke', {
      cert_ids: Array.from({ length: count }, (_, index) => `new-${from + index}`),
      reason,
      all_of_key: false,
    })
  await authority.blocked()
  await revoke(1, 1, 'unspecified')
  // The entry gets another text, so the list is built from the stored rows.
  await revoke(1, 1, 'key_compromise')
  const built = await authority.blocked()
  progress(`${database.kind}: list built, loop held ${built.ownMs.toFixed(0)} ms`)
  const key = network.authority.publicKey
  const first = await poll(authority.port, '/crl', async (body) => CompactCrl.read(body), key)
  const served = await authority.blocked()
  await revoke(2, REVOKED, 'cessation_of_operation')
  const revoked = await authority.blocked()
  const path = `/crl/delta?from=${first.list.crl.sequence}`
  const delta = await poll(authority.port, path, async (body) => first.list.withDelta(body), key)
  const full = await poll(authority.port, '/crl', async (body) => CompactCrl.read(body), key)
  const read = await authority.blocked()
  if (delta.list.position.entriesDigest !== full.list.position.entriesDigest) throw new Error('the lists differ')
  for (const [name, { poll: seen }] of Object.entries({ delta, full }))
    progress(`${database.kind}: ${name} ${seen.sent_bytes} bytes, ${seen.ms} ms, processor ${seen.processor_ms} ms`)
  progress(
    `${database.kind}: loop held ${revoked.ownMs.toFixed(0)} ms by a revocation, ${read.ownMs.toFixed(0)} ms by reads`,
  )
  const fleet = await readAll(authority.port, path)
  const started = performance.now()
  await Promise.all(
    Array.from({ length: BULK }, (_, at) => revoke(REVOKED + 2 + at * PER_REQUEST, PER_REQUEST, 'unspecified')),
  )
  const bulk_seconds = round((performance.now() - started) / 1000, 1)
  return {
    full: full.poll,
    delta: delta.poll,
    fleet: { readers: FLEET, delta_bytes: fleet, full_bytes_calculated: FLEET * full.poll.sent_bytes },
    bulk: { revocations: BULK * PER_REQUEST, seconds: bulk_seconds },
    // The longest block without the time that other processes used.
    loop_held_ms: {
      build_from_rows: round(built.ownMs, 1),
      first_read: round(served.ownMs, 1),
      revoke: round(revoked.ownMs, 1),
      read: round(read.ownMs, 1),
    },
  }
}

async function poll(
  port: number,
  path: string,
  make: (body: Uint8Array) => Promise<CompactCrl | undefined>,
  key: string,
): Promise<{ readonly list: CompactCrl; readonly poll: Poll }> {
  const [started, before] = [performance.now(), process.cpuUsage()]
  const sent = await get(port, path)
  const body = sent.isGzip ? gunzipSync(sent.bytes) : sent.bytes
  const list = await make(body)
  if (list === undefined || !(await list.isSignedBy([key]))) throw new Error(`${path} gave no list that verifies`)
  const { user, system } = process.cpuUsage(before)
  return {
    list,
    poll: {
      sent_bytes: sent.bytes.length,
      plain_bytes: body.length,
      ms: round(performance.now() - started, 0),
      processor_ms: round((user + system) / 1000, 0),
    },
  }
}

/** Every reader of a fleet, one after another. Returns the bytes of all bodies. */
async function readAll(port: number, path: string): Promise<number> {
  let bytes = 0
  for (let reader = 0; reader < FLEET; reader += 1) bytes += (await get(port, path)).bytes.length
  return bytes
}

async function get(port: number, path: string): Promise<{ readonly bytes: Uint8Array; readonly isGzip: boolean }> {
  return new Promise((resolve, reject) => {
    const call = request({ host: HOST, port, path, headers: { 'accept-encoding': 'gzip' } }, (response) => {
      const blocks: Buffer[] = []
      response.on('data', (block: Buffer) => blocks.push(block))
      response.on('end', () => {
        const bytes = Buffer.concat(blocks)
        if (response.statusCode === 200) resolve({ bytes, isGzip: response.headers['content-encoding'] === 'gzip' })
        else reject(new Error(`${path} answered ${response.statusCode} ${bytes.toString('utf8').slice(0, 200)}`))
      })
    })
    call.on('error', reject).end()
  })
}

/** Entries of the list, and certificates that are not revoked yet. */
async function seed(database: Database, { authority }: BenchNetwork, entries: number): Promise<void> {
  const now = BigInt(Date.now()) * 1000n
  const [issued, ends] = [writeSortable(now - DAY), writeSortable(now + 300n * DAY)]
  // Ids as random as real ones: a list of counted ids would compress to a tenth.
  const hex = database.kind === 'postgres' ? 'md5(n::text)' : 'lower(hex(randomblob(16)))'
  const numbered = (from: number, to: number): string =>
    `(select n, substr(hex, 1, 8) || '-' || substr(hex, 9, 4) || '-4' || substr(hex, 14, 3) || '-8' || substr(hex, 18, 3) || '-' || substr(hex, 21, 12) as id from (select n, ${hex} as hex from ${numbersFrom(database, from, to)} limit ${BATCH}) as named) as entry`
  const head = `'{"certificate_id":"' || id || '","issuer":"${authority.keyId}","reason":"cessation_of_operation","revoked_at":"${writeInstant(now - HOUR)}"}'`
  await onDatabase(database, async (execute) => {
    for (let from = 1; from <= entries; from += BATCH) {
      const rows = numbered(from, Math.min(from + BATCH - 1, entries))
      await execute(
        `insert into crl_entries (position, cert_id, entry_json, expires_at) select n, id, ${head}, '${ends}' from ${rows}`,
      )
    }
    await execute(
      `insert into issued_certs (cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, status) select 'new-' || n, 'key-' || n, '{}', '["role:client"]', '${issued}', '${ends}', 8760, 'issued' from ${numbersFrom(database, 1, REVOKED + 1 + BULK * PER_REQUEST)}`,
    )
  })
}
