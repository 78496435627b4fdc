import { CLOCK_TOLERANCE, type Instant, writeSortable } from '@chancery/protocol'
import type { Database, Prepare, Statement } from '../../../database/database.ts'
import { isUsable, readNotices, readState, toOutcomes } from './heartbeats.ts'
import type { BatchResult, HeartbeatOutcome, RefusedRow } from './heartbeats.ts'

/** A heartbeat whose proof has verified. */
export interface GatheredRow {
  readonly cert_id: string
  readonly node_public_key: string
  /** The signed time in microseconds. */
  readonly signed_at: number
  readonly last_heartbeat: string
  readonly heartbeat_status: string
  readonly remote_addr: string
  readonly genesis_digest: string | null
}

/** What decides about a heartbeat. */
export type CheckedRow = Pick<GatheredRow, 'cert_id' | 'node_public_key' | 'signed_at'>

/**
 * Times after this one were stored while the clock was ahead. They count for nothing: otherwise every heartbeat would be
 * refused, and every silent node active, until that time has come. Accepted calls are signed at most 300 s ahead, and
 * clocks of instances may differ.
 */
function latestTime(now: Instant): Latest {
  const latest = now + 2n * CLOCK_TOLERANCE
  return { signed: Number(latest), stored: writeSortable(latest) }
}

interface Latest {
  readonly signed: number
  readonly stored: string
}

/**
 * Checks a batch against the database and writes nothing: the certificate must be usable, and the signed time newer
 * than the stored one. No cache is between a revocation and the next heartbeat.
 */
export async function checkHeartbeats(
  database: Pick<Database, 'run'>,
  rows: readonly CheckedRow[],
  instant: Instant,
): Promise<readonly HeartbeatOutcome[]> {
  const now = writeSortable(instant)
  const latest = latestTime(instant)
  return toOutcomes(await database.run(CHECK_HEARTBEATS, { rows, now, latest }), rows.length, now)
}

/**
 * Stores liveness, one row for each certificate. A row that another process stored with a newer signed time stays, and
 * a row that a revocation has deleted is not created again.
 */
export async function storeHeartbeats(
  database: Pick<Database, 'run'>,
  rows: readonly GatheredRow[],
  instant: Instant,
): Promise<void> {
  // In the order of their keys, so that two processes do not wait for each other.
  const inOrder = rows.toSorted((a, b) => (a.cert_id < b.cert_id ? -1 : 1))
  await database.run(STORE_HEARTBEATS, { rows: inOrder, latest: latestTime(instant) })
}

// Probes in the select list and in conditions use the index whatever the planner assumes about the number of rows.
const CHECK = `
with input as materialized (
  select * from unnest($1::text[], $2::text[], $3::bigint[]) with ordinality as t(cert_id, node_key, signed_at, n)
), found as materialized (
  select i.*, c.node_public_key as cert_key, c.status, c.issued_at, c.expires_at, c.revoke_after,
    exists (select 1 from issued_certs k where k.node_public_key = i.node_key and k.revocation_reason = 'key_compromise') as compromised,
    (select l.signed_at from node_liveness l where l.cert_id = i.cert_id) as stored_at
  from input i left join issued_certs c on c.cert_id = i.cert_id
), refused as (
  select n, cert_key, status, issued_at, expires_at, revoke_after, compromised from found
  where (cert_key = node_key and status = 'issued' and not compromised
    and (revoke_after is null or revoke_after > $4) and issued_at <= $4 and expires_at > $4
    and (stored_at is null or stored_at < signed_at or stored_at > $5::bigint)) is not true
)
select coalesce((select json_agg(refused) from refused), '[]') as refused,
  coalesce((select max(sequence) from crl_versions), 0) as crl_sequence,
  (select policy_id from policy_versions where active = 1) as policy_id`

interface CheckInput {
  readonly rows: readonly CheckedRow[]
  readonly now: string
  readonly latest: Latest
}

const CHECK_HEARTBEATS: Statement<CheckInput, BatchResult> = {
  name: 'check-heartbeats',
  isRead: true,
  postgres: {
    text: CHECK,
    values: ({ rows, now, latest }) => [
      rows.map((row) => row.cert_id),
      rows.map((row) => row.node_public_key),
      rows.map((row) => row.signed_at),
      now,
      latest.signed,
    ],
  },
  sqlite(prepare, { rows, now, latest }) {
    const refused = rows.flatMap((row, index): RefusedRow[] => {
      const { certificate, state } = readState(prepare, row)
      const isFresh =
        certificate !== undefined && isUsable(certificate, row.node_public_key, now) && isNewer(prepare, row, latest)
      return isFresh ? [] : [{ ...state, n: index + 1 }]
    })
    return [{ refused, ...readNotices(prepare) }]
  },
}

function isNewer(prepare: Prepare, { cert_id, signed_at }: CheckedRow, { signed: latest }: Latest): boolean {
  const found = prepare('select signed_at from node_liveness where cert_id = ?').get(cert_id) as unknown as
    | { readonly signed_at: number | null }
    | undefined
  const stored = found?.signed_at ?? -1
  return stored < signed_at || stored > latest
}

// Only columns whose values change are logged, and no index is written while address and silent_since stay.
const STORE = `
update node_liveness l set signed_at = j.signed_at,
  last_heartbeat = case when l.last_heartbeat > $8 then j.last_heartbeat else greatest(l.last_heartbeat, j.last_heartbeat) end,
  heartbeat_status = j.heartbeat_status, remote_addr = j.remote_addr, genesis_digest = j.genesis_digest, silent_since = null
from unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[])
  as j(cert_id, signed_at, last_heartbeat, heartbeat_status, remote_addr, genesis_digest)
where l.cert_id = j.cert_id and (l.signed_at is null or l.signed_at < j.signed_at or l.signed_at > $7::bigint)`

const STORE_HEARTBEATS: Statement<{ readonly rows: readonly GatheredRow[]; readonly latest: Latest }, never> = {
  name: 'store-heartbeats',
  postgres: {
    text: STORE,
    values({ rows, latest }) {
      const column = <Key extends keyof GatheredRow>(key: Key): GatheredRow[Key][] => rows.map((row) => row[key])
      return [
        column('cert_id'),
        column('signed_at'),
        column('last_heartbeat'),
        column('heartbeat_status'),
        column('remote_addr'),
        column('genesis_digest'),
        latest.signed,
        latest.stored,
      ]
    },
  },
  sqlite(prepare, { rows, latest }) {
    for (const row of rows) storeOne(prepare, row, latest)
    return []
  },
}

function storeOne(prepare: Prepare, row: GatheredRow, latest: Latest): void {
  const { cert_id, signed_at, last_heartbeat, heartbeat_status, remote_addr, genesis_digest } = row
  const isNewest = 'cert_id = ?1 and (signed_at is null or signed_at < ?2 or signed_at > ?3)'
  const times =
    'last_heartbeat = case when last_heartbeat > ?4 then ?5 else max(last_heartbeat, ?5) end, signed_at = ?2, ' +
    'heartbeat_status = ?6, genesis_digest = ?7'
  // SQLite writes the index of every column that a statement sets, so usual heartbeats do not set indexed ones.
  const usual = prepare(
    `update node_liveness set ${times} where ${isNewest} and remote_addr = ?8 and silent_since is null`,
  )
  const mark = [cert_id, signed_at, latest.signed, latest.stored] as const
  const values = [...mark, last_heartbeat, heartbeat_status, genesis_digest, remote_addr] as const
  if (usual.run(...values).changes === 1) return
  prepare(`update node_liveness set ${times}, remote_addr = ?8, silent_since = null where ${isNewest}`).run(...values)
}
