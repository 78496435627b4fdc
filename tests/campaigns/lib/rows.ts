import { DatabaseSync } from 'node:sqlite'
import { setTimeout as pause } from 'node:timers/promises'
import {
  DAY,
  draftJoinCertificate,
  hours,
  seedSigner,
  sha256,
  sha256Hex,
  signList,
  toBase64,
  toUtf8,
  writeJson,
  writeSortable,
} from '@chancery/protocol'
import type { JoinCertificate, Signer } from '@chancery/protocol'
import { systemClock } from '@chancery/service-kit'
import type { TestDatabase, TestNetwork } from '@chancery/testkit'
import pg from 'pg'
import type { Random } from './random.ts'

export type Row = Readonly<Record<string, unknown>>

/** Reads and fills the database of an authority directly. */
export interface Rows {
  readonly backend: 'sqlite' | 'postgres'
  /** Statements without parameters, in the SQL that both engines share. */
  query(text: string): Promise<readonly Row[]>
  /** One row per item; every item has the same members. */
  insert(table: string, items: readonly Row[]): Promise<void>
  close(): Promise<void>
}

export async function openRows(database: TestDatabase): Promise<Rows> {
  const url = database.settings['DATABASE_URL']
  return url === undefined ? openSqlite(database.settings['DB_PATH'] ?? '') : openPostgres(url)
}

async function openPostgres(url: string): Promise<Rows> {
  const client = new pg.Client({ connectionString: url, application_name: 'campaign' })
  await client.connect()
  return {
    backend: 'postgres',
    query: async (statement) => (await client.query<Row>(statement)).rows,
    insert: async (table, items) => {
      const names = Object.keys(items[0] ?? {})
      const columns = names.map((name) => items.map((item) => item[name]))
      const types = columns.map((column) => (typeof column[0] === 'number' ? 'bigint' : 'text'))
      const arrays = types.map((type, index) => `$${index + 1}::${type}[]`).join(', ')
      await client.query(`insert into ${table} (${names.join(', ')}) select * from unnest(${arrays})`, columns)
    },
    close: () => client.end(),
  }
}

function openSqlite(path: string): Rows {
  const file = new DatabaseSync(path, { timeout: 10_000 })
  return {
    backend: 'sqlite',
    query: async (statement) => file.prepare(statement).all(),
    insert: async (table, items) => {
      const names = Object.keys(items[0] ?? {})
      const marks = names.map(() => '?').join(', ')
      const statement = file.prepare(`insert into ${table} (${names.join(', ')}) values (${marks})`)
      file.exec('begin immediate')
      for (const item of items) statement.run(...names.map((name) => item[name] as string | number | null))
      file.exec('commit')
    },
    close: async () => file.close(),
  }
}

/** Returns a member as text; empty when it is absent or no scalar. */
export function text(row: Row | undefined, name: string): string {
  const value = row?.[name]
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'bigint' ? String(value) : ''
}

/**
 * Opens the database of a killed authority for one check. No connection of a campaign stays open during a kill:
 * otherwise SQLite would not have to recover its log at the next start, as it must after a crash.
 */
export async function withRows<Result>(database: TestDatabase, look: (rows: Rows) => Promise<Result>): Promise<Result> {
  const rows = await openRows(database)
  try {
    return await look(rows)
  } finally {
    await rows.close()
  }
}

const SILENCE_SECONDS = 20

/** The server still works for a moment after its client was killed. What it commits then is committed. */
export async function waitUntilIdle(database: TestDatabase): Promise<void> {
  if (database.settings['DATABASE_URL'] === undefined) return
  const busy = `select pid from pg_stat_activity where application_name = 'chancery-authority' and datname = current_database()`
  const deadline = performance.now() + SILENCE_SECONDS * 1000
  await withRows(database, async (rows) => {
    while ((await rows.query(busy)).length > 0) {
      if (performance.now() > deadline) throw new Error('connections of a killed authority stay')
      await pause(20)
    }
  })
}

/** Returns a node key that depends only on the seed of a run. */
export function newSigner(random: Random): Promise<Signer> {
  const numbers = [random.next(), random.next(), random.next(), random.next()].join('/')
  return seedSigner('node', toBase64(sha256(toUtf8(`campaign/${numbers}`))))
}

/** Inserts invites directly: tokens whose digests are in the database. Returns the tokens. */
export async function seedInvites(rows: Rows, random: Random, count: number): Promise<string[]> {
  const now = systemClock.now()
  const tokens = Array.from({ length: count }, () => `t-${random.next()}-${random.next()}-${random.next()}`)
  const times = { created_at: writeSortable(now), expires_at: writeSortable(now + DAY) }
  await rows.insert(
    'invite_tokens',
    tokens.map((token) => ({
      token_digest: sha256Hex(token),
      assigned_roles_json: '["role:client"]',
      max_validity_hours: 168,
      ...times,
    })),
  )
  return tokens
}

/** Inserts certificates without joins, signed by the authority's key. */
export async function seedCertificates(
  rows: Rows,
  network: TestNetwork,
  random: Random,
  keys: readonly string[],
): Promise<JoinCertificate[]> {
  const now = systemClock.now()
  const facts = { network_name: network.name, roles: ['role:client'], issued_by: network.authority.keyId }
  const seeded: JoinCertificate[] = []
  for (const node_public_key of keys) {
    const cert_id = toUuid(sha256Hex(`${random.next()}/${random.next()}/${random.next()}`))
    const draft = draftJoinCertificate({ ...facts, cert_id, node_public_key, now, validityHours: 168 })
    seeded.push(await signList(draft, network.authority))
  }
  const times = { issued_at: writeSortable(now), expires_at: writeSortable(now + hours(168)) }
  await rows.insert(
    'issued_certs',
    seeded.map((certificate) => ({
      cert_id: certificate.cert_id,
      node_public_key: certificate.node_public_key,
      cert_json: writeJson(certificate),
      roles_json: '["role:client"]',
      max_validity_hours: 168,
      status: 'issued',
      ...times,
    })),
  )
  const liveness = { last_heartbeat: times.issued_at, heartbeat_status: 'joined', remote_addr: '127.0.0.1' }
  await rows.insert(
    'node_liveness',
    seeded.map(({ cert_id }) => ({ cert_id, ...liveness })),
  )
  return seeded
}

/** Makes a version 4 UUID out of hex digits. */
function toUuid(hex: string): string {
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`
}

/** Everything an authority acknowledged, stored outside of it. It must be stored whatever happens to the process. */
export class Acks {
  /** The response, byte for byte, by certificate id. */
  readonly certificates = new Map<string, string>()
  /** The most severe reason that was acknowledged. */
  readonly revocations = new Map<string, string>()
  readonly invites = new Set<string>()
  /** The highest list sequence in a response. */
  lastSequence = -1

  revoked(cert_id: string, reason: string): void {
    if (this.revocations.get(cert_id) !== 'key_compromise') this.revocations.set(cert_id, reason)
  }

  get size(): number {
    return this.certificates.size + this.revocations.size + this.invites.size
  }

  /** Returns one sentence for each acknowledged change that the database lacks. */
  async check(rows: Rows): Promise<string[]> {
    const violations: string[] = []
    // What was acknowledged before the database is read: where the load goes on, more arrives meanwhile.
    const [certificates, revocations] = [[...this.certificates], [...this.revocations]]
    const [invites, { lastSequence }] = [[...this.invites], this]
    const stored = new Map<string, Row>()
    for (const row of await rows.query('select cert_id, cert_json, status, revocation_reason from issued_certs'))
      stored.set(text(row, 'cert_id'), row)
    for (const [id, answer] of certificates) {
      if (!stored.has(id)) violations.push(`acknowledged certificate ${id} is gone`)
      else if (stored.get(id)?.['cert_json'] !== answer) violations.push(`certificate ${id} is not what was answered`)
    }
    for (const [id, reason] of revocations) {
      const row = stored.get(id)
      if (row?.['status'] !== 'revoked') violations.push(`acknowledged revocation of ${id} is gone`)
      else if (reason === 'key_compromise' && row['revocation_reason'] !== reason)
        violations.push(`revocation of ${id} lost its reason`)
    }
    const digests = new Set(
      (await rows.query('select token_digest from invite_tokens')).map((row) => row['token_digest']),
    )
    for (const token of invites)
      if (!digests.has(sha256Hex(token)))
        violations.push(`acknowledged invite ${sha256Hex(token).slice(0, 16)} is gone`)
    const [last] = await rows.query('select max(sequence) as s from crl_versions')
    if (Number(last?.['s'] ?? -1) < lastSequence)
      violations.push(`list ${lastSequence} was acknowledged and is missing`)
    return violations
  }
}
