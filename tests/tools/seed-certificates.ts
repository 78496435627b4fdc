import { once } from 'node:events'
import { pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { Worker } from 'node:worker_threads'
import { type Instant, canonicalJson, hours, readInstant, writeInstant, writeSortable } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import { testSeed } from '@chancery/testkit'
import pg from 'pg'
import type { SeedRange, SeedTask } from './seed-certificates-thread.ts'
import { SEEDED_ADDRESS, SEEDED_VALIDITY_HOURS, seededCertificateId } from './seeded-nodes.ts'

export { seededCertificateId, seededNodeSeed } from './seeded-nodes.ts'

/**
 * Fills the PostgreSQL database of an authority with certificates. Ids, node keys and signatures depend on seed, index
 * and time only, so every run gives the same. Threads sign every certificate with the authority's key and write the
 * rows of certificate and liveness as a join does. There are no invites, nonces and audit events of these joins.
 *
 *   npx node --conditions=development tests/tools/seed-certificates.ts --database URL --count N
 *     [--from INDEX] [--seed TEXT] [--network NAME] [--at INSTANT] [--revoked N] [--fleet]
 *
 * The database must have been migrated by an authority of that network (by default testkit keys, key id na-test).
 */
export interface SeedOptions {
  readonly database: string
  readonly count: number
  /** First index, to add to what was seeded before. */
  readonly from?: number
  readonly seed?: string
  readonly network?: string
  readonly authority?: { readonly keyId: string; readonly seed: string }
  /** Time of issue and last heartbeat of all certificates; by default the start of this UTC day. */
  readonly at?: Instant
  /**
   * A network in use, for a database that no authority has open: `at` is the time of the fill, certificates have the
   * ages of {@link seededAge}, every node has its address, and the last heartbeats are of the end of the fill. Indexes are built
   * once over all rows.
   */
  readonly fleet?: boolean
  /** Number of certificates, from the first on, that are revoked and go into the next list. */
  readonly revoked?: number
  readonly log?: (line: string) => void
}

const BATCH = 2000
const THREADS = 2
/** Batches that a thread has at the same time: one is signed while another is written. */
const AHEAD = 2
const KEY_ID = 'na-test'

export async function seedCertificates(options: SeedOptions): Promise<void> {
  const { seed = 'chancery', fleet = false } = options
  const at = options.at ?? (fleet ? systemClock.now() : startOfDay())
  const client = new pg.Client({ connectionString: options.database })
  await client.connect()
  try {
    if (fleet) {
      await withoutIndexes(client, 'issued_certs', () => seedInThreads(options, at))
      // Triggers of liveness look for certificates.
      await client.query('analyze issued_certs')
      await withoutIndexes(client, 'node_liveness', () => addLiveness(client))
    } else await seedInThreads(options, at)
    if (options.revoked !== undefined) await revokeFirst(client, seed, options.from ?? 0, options.revoked, at)
    await client.query(fleet ? 'vacuum analyze' : 'analyze')
  } finally {
    await client.end()
  }
}

async function seedInThreads(options: SeedOptions, at: Instant): Promise<void> {
  const { database, count, from = 0, seed = 'chancery', network = 'TEST-NET', log = () => undefined } = options
  const authority = options.authority ?? { keyId: KEY_ID, seed: testSeed('na') }
  const isAged = options.fleet === true
  const task: SeedTask = {
    database,
    seed,
    network,
    authority,
    at,
    isAged,
    heardAt: isAged ? undefined : at,
  }
  const ranges = rangesOf(from, count)
  let stored = 0
  const onStored = ({ size }: SeedRange): void => {
    if (Math.floor((stored + size) / 100_000) > Math.floor(stored / 100_000)) log(`${stored + size} certificates`)
    stored += size
  }
  await Promise.all(Array.from({ length: THREADS }, () => runThread(task, ranges, onStored)))
}

/** The threads take their ranges from one list. */
function* rangesOf(from: number, count: number): Generator<SeedRange, undefined> {
  for (let done = 0; done < count; done += BATCH) yield { first: from + done, size: Math.min(BATCH, count - done) }
  return undefined
}

async function runThread(
  task: SeedTask,
  ranges: Iterator<SeedRange, undefined>,
  onStored: (range: SeedRange) => void,
): Promise<void> {
  const url = new URL('seed-certificates-thread.ts', import.meta.url)
  const thread = new Worker(url, { workerData: task, execArgv: process.execArgv })
  const done = Promise.withResolvers<void>()
  let open = 0
  const give = (): void => {
    const { value } = ranges.next()
    if (value !== undefined) {
      open += 1
      thread.postMessage(value)
    } else if (open === 0) done.resolve()
  }
  thread.once('error', done.reject)
  thread.on('message', (message: SeedRange | 'ready') => {
    if (message === 'ready') {
      for (let count = 0; count < AHEAD; count += 1) give()
      return
    }
    open -= 1
    onStored(message)
    give()
  })
  try {
    await done.promise
    const exited = once(thread, 'exit')
    thread.postMessage('end')
    await exited
  } finally {
    await thread.terminate()
  }
}

/** Drops the indexes that no constraint needs, and creates them again after the work. */
async function withoutIndexes(client: pg.Client, table: string, work: () => Promise<void>): Promise<void> {
  await client.query("set maintenance_work_mem = '512MB'")
  const { rows } = await client.query<{ readonly name: string; readonly definition: string }>(
    `select c.relname as name, pg_get_indexdef(i.indexrelid) as definition from pg_index i
     join pg_class c on c.oid = i.indexrelid
     where i.indrelid = $1::regclass and not i.indisunique`,
    [table],
  )
  for (const { name } of rows) await client.query(`drop index ${name}`)
  try {
    await work()
  } finally {
    for (const { definition } of rows) await client.query(definition)
  }
}

/** As if every node had sent a heartbeat at the end of the fill. */
async function addLiveness(client: pg.Client): Promise<void> {
  await client.query(
    'insert into node_liveness (cert_id, node_public_key, last_heartbeat, heartbeat_status, remote_addr) ' +
      `select cert_id, node_public_key, $1, 'ok', ${SEEDED_ADDRESS} from issued_certs on conflict do nothing`,
    [writeSortable(systemClock.now())],
  )
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
      [ids, entries, done, writeSortable(at + hours(SEEDED_VALIDITY_HOURS))],
    )
  }
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
    fleet: { type: 'boolean', default: false },
  } as const
  const { values } = parseArgs({ options })
  const at = values.at === undefined ? undefined : readInstant(values.at)
  const isUnreadable = values.at !== undefined && at === undefined
  const numbers = [values.count ?? '', values.from, values.revoked]
  if (values.database === undefined || isUnreadable || !numbers.every((each) => /^\d{1,9}$/.test(each))) {
    process.stderr.write('seed-certificates --database URL --count N [--from N] [--seed TEXT] [--network NAME] ')
    process.stderr.write('[--at INSTANT] [--revoked N] [--fleet]\n')
    return 2
  }
  const [count = 0, from = 0, revoked = 0] = numbers.map(Number)
  const started = performance.now()
  const log = (line: string): boolean => process.stdout.write(`${line}\n`)
  const { database, seed, network, fleet } = values
  const more = { ...(at === undefined ? {} : { at }), ...(revoked === 0 ? {} : { revoked }) }
  await seedCertificates({ database, count, from, seed, network, fleet, log, ...more })
  log(`${count} certificates in ${((performance.now() - started) / 1000).toFixed(1)} s`)
  return 0
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) process.exitCode = await main()
