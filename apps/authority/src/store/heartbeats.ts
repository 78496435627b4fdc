import type { Engine, PostgresEngine, SqliteEngine } from './database.ts'

/** A heartbeat whose proof has verified. */
export interface HeartbeatRow {
  readonly cert_id: string
  readonly node_public_key: string
  readonly claim: Uint8Array
  readonly claim_expires_at: string
  readonly heartbeat_status: string
  readonly remote_addr: string
}

/** What the store knew of the certificate at the moment the nonce was, or was not, spent. */
export interface CertificateState {
  readonly node_public_key: string
  readonly status: string
  readonly issued_at: string
  readonly expires_at: string
  readonly revoke_after: string | null
  readonly compromised: boolean
}

export interface HeartbeatOutcome {
  /** Undefined when there is no such certificate. */
  readonly certificate: CertificateState | undefined
  /** True when the nonce was fresh and liveness is recorded; only ever true for a usable certificate. */
  readonly recorded: boolean
  /** The moment the batch was judged at: whoever explains a refusal must ask about that one. */
  readonly judgedAt: string
}

/**
 * Records a batch in one transaction: certificate states are read, nonces of usable ones spent and liveness written by
 * the same statement, so no cache stands between a revocation and the next heartbeat.
 */
export function recordHeartbeats(
  engine: Engine,
  rows: readonly HeartbeatRow[],
  now: string,
): Promise<readonly HeartbeatOutcome[]> {
  return engine.kind === 'postgres' ? onPostgres(engine, rows, now) : onSqlite(engine, rows, now)
}

interface PostgresRow {
  n: number
  cert_key: string | null
  status: string
  issued_at: string
  expires_at: string
  revoke_after: string | null
  compromised: boolean
  claim: Buffer
  fresh: boolean
}

const STATEMENT = `
with input as materialized (
  select * from unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::text[], $6::text[])
    with ordinality as t(cert_id, node_key, claim, claim_expires_at, heartbeat_status, remote_addr, n)
), found as materialized (
  select i.*, c.node_public_key as cert_key, c.status, c.issued_at, c.expires_at, c.revoke_after,
    exists (select 1 from issued_certs k where k.node_public_key = i.node_key and k.revocation_reason = 'key_compromise') as compromised
  from input i left join issued_certs c on c.cert_id = i.cert_id
), usable as (
  select * from found where cert_key = node_key and status = 'issued' and not compromised
    and (revoke_after is null or revoke_after > $7) and issued_at <= $7 and expires_at > $7
), claimed as (
  insert into nonces (claim, expires_at) select claim, claim_expires_at from usable order by claim
  on conflict do nothing returning claim
), touched as (
  update node_liveness l set last_heartbeat = $7, heartbeat_status = u.heartbeat_status, remote_addr = u.remote_addr
  from (select distinct on (cert_id) * from usable join claimed using (claim) order by cert_id, n desc) u
  where l.cert_id = u.cert_id
)
select n, cert_key, status, issued_at, expires_at, revoke_after, compromised, claim,
  exists (select 1 from claimed c where c.claim = found.claim) as fresh
from found order by n`

async function onPostgres(
  engine: PostgresEngine,
  rows: readonly HeartbeatRow[],
  now: string,
): Promise<HeartbeatOutcome[]> {
  const column = <Key extends keyof HeartbeatRow>(key: Key): HeartbeatRow[Key][] => rows.map((row) => row[key])
  const claims = rows.map((row) => Buffer.from(row.claim.buffer, row.claim.byteOffset, row.claim.byteLength))
  const found = await engine.run<PostgresRow>('record-heartbeats', STATEMENT, [
    column('cert_id'),
    column('node_public_key'),
    claims,
    column('claim_expires_at'),
    column('heartbeat_status'),
    column('remote_addr'),
    now,
  ])
  const taken = new Set<string>()
  return found.map((row) => {
    const certificate = row.cert_key === null ? undefined : { ...row, node_public_key: row.cert_key }
    // Equal claims in one batch spent one row: the first has it, the others are replays.
    const claim = row.claim.toString('latin1')
    const recorded = row.fresh && !taken.has(claim)
    if (recorded) taken.add(claim)
    return { certificate, recorded, judgedAt: now }
  })
}

function onSqlite(engine: SqliteEngine, rows: readonly HeartbeatRow[], now: string): Promise<HeartbeatOutcome[]> {
  return engine.write((prepare) => {
    const find = prepare(
      'select node_public_key, status, issued_at, expires_at, revoke_after, exists (select 1 from issued_certs k ' +
        "where k.node_public_key = ?2 and k.revocation_reason = 'key_compromise') as compromised from issued_certs where cert_id = ?1",
    )
    const claim = prepare('insert into nonces (claim, expires_at) values (?, ?) on conflict do nothing')
    const touch = prepare(
      'update node_liveness set last_heartbeat = ?, heartbeat_status = ?, remote_addr = ? where cert_id = ?',
    )
    return rows.map((row) => {
      const found = find.get(row.cert_id, row.node_public_key) as unknown as
        | (Omit<CertificateState, 'compromised'> & { compromised: number })
        | undefined
      if (found === undefined) return { certificate: undefined, recorded: false, judgedAt: now }
      const certificate = { ...found, compromised: found.compromised === 1 }
      if (!isUsable(certificate, row.node_public_key, now)) return { certificate, recorded: false, judgedAt: now }
      const recorded = claim.run(row.claim, row.claim_expires_at).changes === 1
      if (recorded) touch.run(now, row.heartbeat_status, row.remote_addr, row.cert_id)
      return { certificate, recorded, judgedAt: now }
    })
  })
}

/** The same condition as `usable` above: stored times are fixed-width text, so they compare like instants. */
export function isUsable(certificate: CertificateState, nodeKey: string, now: string): boolean {
  const { node_public_key, status, issued_at, expires_at, revoke_after, compromised } = certificate
  const isSuperseded = revoke_after !== null && revoke_after <= now
  return (
    node_public_key === nodeKey &&
    status === 'issued' &&
    !compromised &&
    !isSuperseded &&
    issued_at <= now &&
    expires_at > now
  )
}
