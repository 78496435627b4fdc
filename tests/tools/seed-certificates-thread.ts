import { parentPort, workerData } from 'node:worker_threads'
import { type Instant, canonicalJson, draftJoinCertificate, hours, writeJson, writeSortable } from '@chancery/protocol'
import pg from 'pg'
import { SECRET_BYTES, publicKeyOf, signRaw, writeSecret } from './raw-ed25519.ts'
import { SEEDED_VALIDITY_HOURS, seededAge, seededCertificateId, seededNodeBytes } from './seeded-nodes.ts'

/** What one thread of the seeder works with. */
export interface SeedTask {
  readonly database: string
  readonly seed: string
  readonly network: string
  readonly authority: { readonly keyId: string; readonly seed: string }
  readonly at: Instant
  /** Issue times as in a network in use; without it all certificates are issued at `at`. */
  readonly isAged: boolean
  /** Left out when liveness is written at the end. */
  readonly heardAt: Instant | undefined
}

/** One range of indexes; the thread answers with the range when its rows are committed. */
export interface SeedRange {
  readonly first: number
  readonly size: number
}

const ROLES = ['role:client']
const MICROS = 1000n

interface Made {
  readonly cert_id: string
  readonly key: string
  readonly json: string
  readonly issued_at: string
  readonly expires_at: string
}

/** Makes a certificate with the text that the authority would store. */
function make({ seed, network, authority, at, isAged }: SeedTask, index: number, authoritySecret: Uint8Array): Made {
  const secret = new Uint8Array(SECRET_BYTES)
  writeSecret(seededNodeBytes(seed, index), secret)
  const now = isAged ? at - BigInt(seededAge(seed, index).issuedBeforeMs) * MICROS : at
  const draft = draftJoinCertificate({
    cert_id: seededCertificateId(seed, index),
    node_public_key: publicKeyOf(secret),
    network_name: network,
    roles: ROLES,
    issued_by: authority.keyId,
    now,
    validityHours: SEEDED_VALIDITY_HOURS,
  })
  const { signatures: _none, ...facts } = draft
  const sig = signRaw(Buffer.from(canonicalJson(facts)), authoritySecret)
  return {
    cert_id: draft.cert_id,
    key: draft.node_public_key,
    json: writeJson({ ...draft, signatures: [{ key_id: authority.keyId, sig }] }),
    issued_at: writeSortable(now),
    expires_at: writeSortable(now + hours(SEEDED_VALIDITY_HOURS)),
  }
}

const lists = (numbers: readonly number[]): string =>
  numbers.map((number) => String.raw`string_to_array($${number}, E'\n')`).join(', ')

async function store(client: pg.Client, rows: readonly Made[], heardAt: Instant | undefined): Promise<void> {
  // As one text for each column: writing arrays with their quotes would take longer than the signatures.
  const column = (name: keyof Made): string => rows.map((row) => row[name]).join('\n')
  const [ids, keys] = [column('cert_id'), column('key')]
  await client.query({
    name: 'seed-certificates',
    text:
      'insert into issued_certs (cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, status) ' +
      `select i, k, j, $6, a, e, $7::int, 'issued' from unnest(${lists([1, 2, 3, 4, 5])}) as t(i, k, j, a, e)`,
    values: [
      ids,
      keys,
      column('json'),
      column('issued_at'),
      column('expires_at'),
      writeJson(ROLES),
      SEEDED_VALIDITY_HOURS,
    ],
  })
  if (heardAt === undefined) return
  await client.query({
    name: 'seed-liveness',
    text:
      'insert into node_liveness (cert_id, node_public_key, last_heartbeat, heartbeat_status, remote_addr) ' +
      `select i, k, $3, 'joined', '192.0.2.1' from unnest(${lists([1, 2])}) as t(i, k)`,
    values: [ids, keys, writeSortable(heardAt)],
  })
}

async function serve(task: SeedTask): Promise<void> {
  const authoritySecret = new Uint8Array(SECRET_BYTES)
  writeSecret(Buffer.from(task.authority.seed, 'base64'), authoritySecret)
  const client = new pg.Client({ connectionString: task.database })
  await client.connect()
  // A lost fill is made again.
  await client.query('set synchronous_commit = off')
  let writing: Promise<void> = Promise.resolve()
  parentPort?.on('message', (range: SeedRange | 'end') => {
    if (range === 'end') {
      void writing.then(() => client.end()).then(() => parentPort?.close())
      return
    }
    const rows = Array.from({ length: range.size }, (_, offset) => make(task, range.first + offset, authoritySecret))
    // The database writes one batch while the next one is signed.
    const before = writing
    writing = before.then(() => store(client, rows, task.heardAt)).then(() => parentPort?.postMessage(range))
    writing.catch((error: unknown) => {
      throw error
    })
  })
  parentPort?.postMessage('ready')
}

void serve(workerData as SeedTask)
