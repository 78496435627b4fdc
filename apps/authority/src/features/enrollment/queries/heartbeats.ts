import type { Database, Prepare, Statement } from '../../../database/database.ts'

/** A heartbeat whose proof has verified. */
export interface HeartbeatRow {
  readonly cert_id: string
  readonly node_public_key: string
  readonly claim: Uint8Array
  readonly claim_expires_at: string
  readonly heartbeat_status: string
  readonly remote_addr: string
  /** Digest of the genesis block that the node reports. */
  readonly genesis_digest: string | null
}

/** The stored state of the certificate when the nonce was, or was not, spent. */
export interface CertificateState {
  readonly node_public_key: string
  readonly status: string
  readonly issued_at: string
  readonly expires_at: string
  readonly revoke_after: string | null
  readonly compromised: boolean
}

/** What lets a node fetch lists only when they changed (protocol/core 7). */
export interface Notices {
  readonly crl_sequence: number
  readonly policy_id: string | null
}

/** Recorded only when the certificate was usable and the nonce fresh. */
export type HeartbeatOutcome = RecordedHeartbeat | RefusedHeartbeat

export interface RecordedHeartbeat {
  readonly recorded: true
  /** As of the moment it was recorded, so never older than the heartbeat. */
  readonly notices: Notices
}

export interface RefusedHeartbeat {
  readonly recorded: false
  /** Undefined when there is no such certificate. */
  readonly certificate: CertificateState | undefined
  /** The time at which the batch was checked: the explanation of a refusal must use the same time. */
  readonly judgedAt: string
}

/**
 * Records a batch in one transaction: certificate states are read, nonces of usable certificates spent and liveness
 * written by one statement, so no cache is between a revocation and the next heartbeat.
 */
export async function recordHeartbeats(
  database: Pick<Database, 'run'>,
  rows: readonly HeartbeatRow[],
  now: string,
): Promise<readonly HeartbeatOutcome[]> {
  return toOutcomes(await database.run(RECORD_HEARTBEATS, { rows, now }), rows.length, now)
}

/** Returns one outcome for each row of a batch, in their order. */
export function toOutcomes([found]: readonly BatchResult[], count: number, now: string): readonly HeartbeatOutcome[] {
  if (found === undefined) throw new Error('the statement returns one row')
  const { refused, crl_sequence, policy_id } = found
  const recorded: RecordedHeartbeat = { recorded: true, notices: { crl_sequence, policy_id } }
  const outcomes = Array.from<unknown, HeartbeatOutcome>({ length: count }, () => recorded)
  for (const { n, cert_key, ...state } of refused) {
    const certificate = cert_key === null ? undefined : { ...state, node_public_key: cert_key }
    outcomes[n - 1] = { recorded: false, certificate, judgedAt: now }
  }
  return outcomes
}

/** One row: the refused heartbeats, which are few, and the current versions for the others. */
export interface BatchResult extends Notices {
  readonly refused: readonly RefusedRow[]
}

type CertificateRow = Omit<CertificateState, 'node_public_key'> & { readonly cert_key: string | null }
export type RefusedRow = CertificateRow & { readonly n: number }

// Of equal claims in one batch the first counts, the others are replays. Memberships are in the select list, where they
// are hashed: as joins of parts of unknown size they become nested loops.
const RECORD = `
with input as materialized (
  select * from unnest($1::text[], $2::text[], $3::bytea[], $4::text[], $5::text[], $6::text[], $8::text[])
    with ordinality as t(cert_id, node_key, claim, claim_expires_at, heartbeat_status, remote_addr, genesis_digest, n)
), found as materialized (
  select i.*, c.node_public_key as cert_key, c.status, c.issued_at, c.expires_at, c.revoke_after,
    exists (select 1 from issued_certs k where k.node_public_key = i.node_key and k.revocation_reason = 'key_compromise') as compromised
  from input i left join issued_certs c on c.cert_id = i.cert_id
), usable as materialized (
  select distinct on (claim) * from found where cert_key = node_key and status = 'issued' and not compromised
    and (revoke_after is null or revoke_after > $7) and issued_at <= $7 and expires_at > $7
  order by claim, n
), claimed as (
  insert into nonces (claim, expires_at) select claim, claim_expires_at from usable order by claim
  on conflict do nothing returning claim
), checked as materialized (
  select n, cert_id, heartbeat_status, remote_addr, genesis_digest, claim in (select claim from claimed) as fresh from usable
), touched as (
  update node_liveness l set last_heartbeat = $7, heartbeat_status = j.heartbeat_status, remote_addr = j.remote_addr,
    genesis_digest = j.genesis_digest, silent_since = null
  from (select distinct on (cert_id) * from checked where fresh order by cert_id, n desc) j
  where l.cert_id = j.cert_id
), refused as (
  select n, cert_key, status, issued_at, expires_at, revoke_after, compromised
  from found where n not in (select n from checked where fresh)
)
select coalesce((select json_agg(refused) from refused), '[]') as refused,
  coalesce((select max(sequence) from crl_versions), 0) as crl_sequence,
  (select policy_id from policy_versions where active = 1) as policy_id`

const RECORD_HEARTBEATS: Statement<{ readonly rows: readonly HeartbeatRow[]; readonly now: string }, BatchResult> = {
  name: 'record-heartbeats',
  postgres: {
    text: RECORD,
    values({ rows, now }) {
      const column = <Key extends keyof HeartbeatRow>(key: Key): HeartbeatRow[Key][] => rows.map((row) => row[key])
      return [
        column('cert_id'),
        column('node_public_key'),
        rows.map((row) => Buffer.from(row.claim.buffer, row.claim.byteOffset, row.claim.byteLength)),
        column('claim_expires_at'),
        column('heartbeat_status'),
        column('remote_addr'),
        now,
        column('genesis_digest'),
      ]
    },
  },
  sqlite(prepare, { rows, now }) {
    const notices = readNotices(prepare)
    const refused = rows.flatMap((row, index): RefusedRow[] => {
      const state = recordOne(prepare, row, now)
      return state === 'recorded' ? [] : [{ ...state, n: index + 1 }]
    })
    return [{ refused, ...notices }]
  },
}

const UNKNOWN: CertificateRow = {
  cert_key: null,
  status: '',
  issued_at: '',
  expires_at: '',
  revoke_after: null,
  compromised: false,
}

/** The certificate of a heartbeat, undefined when it is unknown, and what a refusal says about it. */
export function readState(
  prepare: Prepare,
  row: Pick<HeartbeatRow, 'cert_id' | 'node_public_key'>,
): { readonly certificate: CertificateState | undefined; readonly state: CertificateRow } {
  const found = prepare(
    'select node_public_key, status, issued_at, expires_at, revoke_after, exists (select 1 from issued_certs k ' +
      "where k.node_public_key = ?2 and k.revocation_reason = 'key_compromise') as compromised from issued_certs where cert_id = ?1",
  ).get(row.cert_id, row.node_public_key) as unknown as
    | (Omit<CertificateState, 'compromised'> & { compromised: number })
    | undefined
  if (found === undefined) return { certificate: undefined, state: UNKNOWN }
  const certificate = { ...found, compromised: found.compromised === 1 }
  const { node_public_key: cert_key, ...state } = certificate
  return { certificate, state: { ...state, cert_key } }
}

/** Returns `recorded`, or the state of a certificate whose heartbeat is refused. */
function recordOne(prepare: Prepare, row: HeartbeatRow, now: string): CertificateRow | 'recorded' {
  const { certificate, state } = readState(prepare, row)
  if (certificate === undefined || !isUsable(certificate, row.node_public_key, now)) return state
  const claim = prepare('insert into nonces (claim, expires_at) values (?, ?) on conflict do nothing')
  if (claim.run(row.claim, row.claim_expires_at).changes !== 1) return state
  // SQLite writes the index of every column that a statement sets, so usual heartbeats do not set indexed ones.
  const usual = prepare(
    'update node_liveness set last_heartbeat = ?, heartbeat_status = ?, genesis_digest = ? ' +
      'where cert_id = ? and remote_addr = ? and silent_since is null',
  )
  const { heartbeat_status, genesis_digest, cert_id, remote_addr } = row
  if (usual.run(now, heartbeat_status, genesis_digest, cert_id, remote_addr).changes === 1) return 'recorded'
  prepare(
    'update node_liveness set last_heartbeat = ?, heartbeat_status = ?, remote_addr = ?, genesis_digest = ?, ' +
      'silent_since = null where cert_id = ?',
  ).run(now, heartbeat_status, remote_addr, genesis_digest, cert_id)
  return 'recorded'
}

export function readNotices(prepare: Prepare): Notices {
  const found = prepare(
    'select coalesce((select max(sequence) from crl_versions), 0) as crl_sequence, ' +
      '(select policy_id from policy_versions where active = 1) as policy_id',
  ).get() as unknown as Notices
  return { crl_sequence: found.crl_sequence, policy_id: found.policy_id }
}

/** The condition of `usable` in the PostgreSQL statement: stored times are fixed-width text, so they compare like instants. */
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
