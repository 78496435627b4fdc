import { createHash, createPrivateKey, createPublicKey, sign } from 'node:crypto'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { Worker, isMainThread, parentPort, workerData } from 'node:worker_threads'
import { canonicalJson, hours, readInstant, writeInstant, writeJson, writeSortable } from '@chancery/protocol'
import type { Instant, JoinCertificate } from '@chancery/protocol'
import { testSeed } from '@chancery/testkit'
import pg from 'pg'

/**
 * Fills the PostgreSQL database of an authority with certificates. Ids, node keys and signatures depend on seed, index
 * and time only, so every run gives the same. Worker threads sign every record with the test authority's key; 1,000,000
 * rows take some minutes.
 *
 *   npx node --conditions=development tests/tools/seed-certificates.ts --database URL --count N
 *     [--from INDEX] [--seed TEXT] [--network NAME] [--at INSTANT] [--revoked N]
 *
 * The database must have been migrated by an authority of that network (testkit keys, key id na-test).
 */
export interface SeedOptions {
  readonly database: string
  readonly count: number
  /** First index, to add to what was seeded before. */
  readonly from?: number
  readonly seed?: string
  readonly network?: string
  /** Time of issue and last heartbeat of all certificates; by default the start of this UTC day. */
  readonly at?: Instant
  /** Time of the last heartbeat, if not `at`. */
  readonly heardAt?: Instant
  /** Number of certificates, from the first on, that are revoked and go into the next list. */
  readonly revoked?: number
  readonly log?: (line: string) => void
}

const VALIDITY_HOURS = 168
const BATCH = 2000
const WORKERS = 2
const ROLES = ['role:client']
const KEY_ID = 'na-test'
const PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex')

interface Task {
  readonly seed: string
  readonly network: string
  readonly at: Instant
}

/** Returns the private seed of a seeded node in base64, so that a load generator can sign for it. */
export function seededNodeSeed(seed: string, index: number): string {
  return createHash('sha256').update(`seeded/${seed}/node/${index}`).digest('base64')
}

export function seededCertificateId(seed: string, index: number): string {
  const hex = createHash('sha256').update(`seeded/${seed}/certificate/${index}`).digest('hex')
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

type Batch = readonly { readonly cert_id: string; readonly key: string; readonly json: string }[]

export async function seedCertificates(options: SeedOptions): Promise<void> {
  const { count, from = 0, seed = 'chancery', network = 'TEST-NET', log = () => undefined } = options
  const at = options.at ?? startOfDay()
  const client = new pg.Client({ connectionString: options.database })
  await client.connect()
  const workers = Array.from({ length: WORKERS }, () => {
    const data: Task = { seed, network, at }
    return new Worker(new URL(import.meta.url), { workerData: data, execArgv: process.execArgv })
  })
  try {
    const ends = { next: from, end: from + count }
    let stored = 0
    // One connection: batches wait in a queue, which also limits how far the workers run ahead.
    let turn: Promise<void> = Promise.resolve()
    const drain = async (worker: Worker): Promise<void> => {
      while (ends.next < ends.end) {
        const first = ends.next
        const size = Math.min(BATCH, ends.end - first)
        ends.next += size
        const batch = await ask(worker, first, size)
        turn = turn.then(() => store(client, batch, at, options.heardAt ?? at))
        await turn
        stored += size
        if (stored % 100_000 === 0) log(`${stored} certificates`)
      }
    }
    await Promise.all(workers.map(drain))
    if (options.revoked !== undefined) await revokeFirst(client, seed, from, options.revoked, at)
    await client.query('analyze')
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()))
    await client.end()
  }
}

function ask(worker: Worker, first: number, size: number): Promise<Batch> {
  return new Promise((resolve, reject) => {
    worker.once('error', reject)
    worker.once('message', (batch: Batch) => {
      worker.off('error', reject)
      resolve(batch)
    })
    worker.postMessage({ first, size })
  })
}

async function store(client: pg.Client, batch: Batch, at: Instant, heardAt: Instant): Promise<void> {
  const ids = batch.map((row) => row.cert_id)
  await client.query({
    name: 'seed-certificates',
    text:
      'insert into issued_certs (cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, status) ' +
      "select i, k, j, $4, $5, $6, $7, 'issued' from unnest($1::text[], $2::text[], $3::text[]) as t(i, k, j)",
    values: [
      ids,
      batch.map((row) => row.key),
      batch.map((row) => row.json),
      writeJson(ROLES),
      writeSortable(at),
      writeSortable(at + hours(VALIDITY_HOURS)),
      VALIDITY_HOURS,
    ],
  })
  await client.query({
    name: 'seed-liveness',
    text:
      'insert into node_liveness (cert_id, node_public_key, last_heartbeat, heartbeat_status, remote_addr) ' +
      "select i, k, $3, 'joined', '192.0.2.1' from unnest($1::text[], $2::text[]) as t(i, k)",
    values: [ids, batch.map((row) => row.key), writeSortable(heardAt)],
  })
}

/** Writes the rows of a revocation without list and audit events; the next list contains them. */
async function revokeFirst(client: pg.Client, seed: string, from: number, count: number, at: Instant): Promise<void> {
  const reason = 'cessation_of_operation'
  for (let done = 0; done < count; done += BATCH) {
    const size = Math.min(BATCH, count - done)
    const ids = Array.from({ length: size }, (_, index) => seededCertificateId(seed, from + done + index))
    const entries = ids.map((certificate_id) =>
      canonicalJson({ certificate_id, revoked_at: writeInstant(at), reason, issuer: KEY_ID }),
    )
    await client.query(
      "update issued_certs set status = 'revoked', revoked_at = $2, revocation_reason = $3 where cert_id = any($1::text[])",
      [ids, writeSortable(at), reason],
    )
    await client.query('delete from node_liveness where cert_id = any($1::text[])', [ids])
    await client.query(
      'insert into crl_entries (position, cert_id, entry_json, expires_at) ' +
        'select $3::bigint + n, i, e, $4 from unnest($1::text[], $2::text[]) with ordinality as t(i, e, n)',
      [ids, entries, done, writeSortable(at + hours(VALIDITY_HOURS))],
    )
  }
}

/** Runs in a worker: makes the rows of one batch. */
function makeBatch({ seed, network, at }: Task, first: number, size: number): Batch {
  const authority = createPrivateKey({
    key: Buffer.concat([PKCS8, Buffer.from(testSeed('na'), 'base64')]),
    format: 'der',
    type: 'pkcs8',
  })
  const times = { issued_at: writeInstant(at), expires_at: writeInstant(at + hours(VALIDITY_HOURS)) }
  return Array.from({ length: size }, (_, offset) => {
    const index = first + offset
    const der = Buffer.concat([PKCS8, Buffer.from(seededNodeSeed(seed, index), 'base64')])
    const { x = '' } = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })).export({
      format: 'jwk',
    })
    const key = Buffer.from(x, 'base64url').toString('base64')
    const cert_id = seededCertificateId(seed, index)
    const facts = { cert_id, node_public_key: key, network_name: network, roles: ROLES, issued_by: KEY_ID, ...times }
    const sig = sign(null, Buffer.from(canonicalJson(facts)), authority).toString('base64')
    const certificate: JoinCertificate = { ...facts, signatures: [{ key_id: KEY_ID, sig }] }
    return { cert_id, key, json: writeJson(certificate) }
  })
}

function startOfDay(): Instant {
  return readInstant(`${new Date().toISOString().slice(0, 10)}T00:00:00Z`) ?? 0n
}

async function main(): Promise<number> {
  const options = {
    database: { type: 'string' },
    count: { type: 'string' },
    from: { type: 'string', default: '0' },
    seed: { type: 'string', default: 'chancery' },
    network: { type: 'string', default: 'TEST-NET' },
    at: { type: 'string' },
    revoked: { type: 'string', default: '0' },
  } as const
  const { values } = parseArgs({ options })
  const at = values.at === undefined ? startOfDay() : readInstant(values.at)
  const numbers = [values.count ?? '', values.from, values.revoked]
  if (values.database === undefined || at === undefined || !numbers.every((each) => /^\d{1,9}$/.test(each))) {
    process.stderr.write('seed-certificates --database URL --count N [--from N] [--seed TEXT] [--network NAME] ')
    process.stderr.write('[--at INSTANT] [--revoked N]\n')
    return 2
  }
  const [count = 0, from = 0, revoked = 0] = numbers.map(Number)
  const started = performance.now()
  const log = (line: string): boolean => process.stdout.write(`${line}\n`)
  const { database, seed, network } = values
  await seedCertificates({ database, count, from, seed, network, at, log, ...(revoked === 0 ? {} : { revoked }) })
  log(`${count} certificates in ${((performance.now() - started) / 1000).toFixed(1)} s`)
  return 0
}

if (!isMainThread) {
  const task = workerData as Task
  parentPort?.on('message', ({ first, size }: { first: number; size: number }) => {
    parentPort?.postMessage(makeBatch(task, first, size))
  })
} else if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = await main()
