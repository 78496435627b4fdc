import { faultAfterAudit } from '#faults'
import { readInstant, writeSortable } from '@chancery/protocol'
import { auditInsertFrom, insertAuditRows, subjectsText } from '../../../audit/insert.ts'
import type { Database, Prepare, Statement, Transaction } from '../../../database/database.ts'
import { SHARE_NODE_KEYS } from '../../../database/transaction.ts'

/** A certificate that is signed and waits for its invite and nonce to be spent. */
export interface JoinRow {
  readonly token_digest: string
  readonly claim: Uint8Array
  readonly claim_expires_at: string
  readonly cert_id: string
  readonly node_public_key: string
  readonly cert_json: string
  readonly roles_json: string
  readonly issued_at: string
  readonly expires_at: string
  readonly max_validity_hours: number
  readonly remote_addr: string
  readonly event_id: string
  readonly event_json: string
  /** From the invite, and the form it is compared in. */
  readonly label: string | null
  readonly folded: string | null
}

/** `issued`, or which of the two single-use values was already spent, or that the key was revoked as compromised. */
export type JoinOutcome = 'issued' | 'nonce_spent' | 'invite_spent' | 'key_compromised'

/**
 * Issues a batch in one transaction. Per row all or nothing: nonce, invite, certificate, liveness and audit event; of
 * requests for one invite exactly one gets a row.
 */
export async function issueCertificates(
  database: Pick<Database, 'write'>,
  rows: readonly JoinRow[],
  now: string,
): Promise<readonly JoinOutcome[]> {
  try {
    return await database.write((tx) => issueBatch(tx, rows, now), { cachedPlans: true })
  } catch (error) {
    if (!(error instanceof SplitBatchError)) throw error
    if (rows.length === 1) return ['nonce_spent']
    const outcomes: JoinOutcome[] = []
    for (const row of rows) outcomes.push(...(await issueCertificates(database, [row], now)))
    return outcomes
  }
}

async function issueBatch(tx: Transaction, rows: readonly JoinRow[], now: string): Promise<JoinOutcome[]> {
  // Before the other statement, because that sees the database as of its own start: a key that is revoked as compromised
  // at this time is either seen there, or its revocation waits and then finds the certificate.
  await tx.run(
    SHARE_NODE_KEYS,
    rows.map((row) => row.node_public_key),
  )
  const outcomes: JoinOutcome[] = rows.map(() => 'issued')
  for (const row of await tx.run(ISSUE_CERTIFICATES, { rows, now })) outcomes[row.n - 1] = findRefusal(row)
  if (outcomes.includes('issued')) faultAfterAudit(tx, [{ event_type: 'certificate_issued' }])
  return outcomes
}

/** A row that was not issued; issued rows are not returned. */
interface RefusedRow {
  readonly n: number
  readonly compromised: boolean
  readonly consumed: boolean
  readonly nonce_spent: boolean
}

/** Another request spent the nonce after this one consumed the invite: roll back and issue row by row. */
class SplitBatchError extends Error {
  override readonly name = 'SplitBatchError'
}

function findRefusal(row: RefusedRow): JoinOutcome {
  if (row.consumed) throw new SplitBatchError('an invite was consumed without its nonce')
  if (row.compromised) return 'key_compromised'
  return row.nonce_spent ? 'nonce_spent' : 'invite_spent'
}

const EVENT = 'certificate_issued'

// Memberships are in the select list, or with `is true`: there they are hashed. As joins of parts of unknown size they
// become nested loops, and a batch of twice the size costs four times as much.
const ISSUE = `
with input as materialized (
  select * from unnest($1::text[], $2::bytea[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[],
    $10::int[], $11::text[], $12::text[], $13::text[], $15::text[], $16::text[], $17::text[])
    with ordinality as t(token_digest, claim, claim_expires_at, cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at,
      max_validity_hours, remote_addr, event_id, event_json, label, folded, subjects, n)
), open as materialized (
  select i.*, exists (select 1 from issued_certs k where k.node_public_key = i.node_public_key and k.revocation_reason = 'key_compromise') as compromised
  from input i
), candidate as (
  select distinct on (o.token_digest) o.*
  from open o join invite_tokens t on t.token_digest = o.token_digest
  where not o.compromised and t.used_at is null and t.expires_at >= $14
    and not exists (select 1 from nonces s where s.claim = o.claim)
  order by o.token_digest, o.n
), consumed as (
  update invite_tokens t set used_at = $14, used_by_key = c.node_public_key from candidate c
  where t.token_digest = c.token_digest and t.used_at is null and t.expires_at >= $14 returning c.n
), won as materialized (
  select distinct on (claim) * from open where (n in (select n from consumed)) is true order by claim, n
), claimed as (
  insert into nonces (claim, expires_at) select claim, claim_expires_at from won order by claim
  on conflict do nothing returning claim
), issued as materialized (
  select *, claim in (select claim from claimed) as fresh from won
), cert as (
  insert into issued_certs (cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, status)
  select cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, 'issued' from issued where fresh
), live as (
  insert into node_liveness (cert_id, node_public_key, last_heartbeat, heartbeat_status, remote_addr)
  select cert_id, node_public_key, issued_at, 'joined', remote_addr from issued where fresh
), labelled as (
  insert into node_labels (node_public_key, label, folded)
  select distinct on (node_public_key) node_public_key, label, folded from issued where fresh and label is not null
  order by node_public_key, n desc
  on conflict (node_public_key) do update set label = excluded.label, folded = excluded.folded
), ${auditInsertFrom(
  `select event_id, '${EVENT}' as event_type, event_json, issued_at as created_at, subjects from issued where fresh`,
)}
select n::int as n, compromised, n in (select n from consumed) as consumed,
  exists (select 1 from nonces s where s.claim = open.claim) as nonce_spent
from open where n not in (select n from issued where fresh)`

const ISSUE_CERTIFICATES: Statement<{ readonly rows: readonly JoinRow[]; readonly now: string }, RefusedRow> = {
  name: 'issue-certificates',
  postgres: {
    text: ISSUE,
    values({ rows, now }) {
      const column = <Key extends keyof JoinRow>(key: Key): JoinRow[Key][] => rows.map((row) => row[key])
      return [
        column('token_digest'),
        rows.map((row) => Buffer.from(row.claim.buffer, row.claim.byteOffset, row.claim.byteLength)),
        column('claim_expires_at'),
        column('cert_id'),
        column('node_public_key'),
        column('cert_json'),
        column('roles_json'),
        column('issued_at'),
        column('expires_at'),
        column('max_validity_hours'),
        column('remote_addr'),
        column('event_id'),
        column('event_json'),
        now,
        column('label'),
        column('folded'),
        rows.map(({ event_json }) => subjectsText({ event_type: EVENT, event_json })),
      ]
    },
  },
  sqlite: (prepare, { rows, now }) =>
    rows.flatMap((row, index) => {
      const outcome = issueOne(prepare, row, now)
      if (outcome === 'issued') return []
      const [compromised, nonce_spent] = [outcome === 'key_compromised', outcome === 'nonce_spent']
      return [{ n: index + 1, compromised, consumed: false, nonce_spent }]
    }),
}

function issueOne(prepare: Prepare, row: JoinRow, now: string): JoinOutcome {
  const compromised = prepare(
    "select 1 from issued_certs where node_public_key = ? and revocation_reason = 'key_compromise'",
  )
  if (compromised.get(row.node_public_key) !== undefined) return 'key_compromised'
  if (prepare('select 1 from nonces where claim = ?').get(row.claim) !== undefined) return 'nonce_spent'
  const consume = prepare(
    'update invite_tokens set used_at = ?, used_by_key = ? where token_digest = ? and used_at is null and expires_at >= ?',
  )
  if (consume.run(now, row.node_public_key, row.token_digest, now).changes !== 1) return 'invite_spent'
  prepare('insert into nonces (claim, expires_at) values (?, ?)').run(row.claim, row.claim_expires_at)
  prepare(
    'insert into issued_certs (cert_id, node_public_key, cert_json, roles_json, issued_at, expires_at, max_validity_hours, status) ' +
      "values (?, ?, ?, ?, ?, ?, ?, 'issued')",
  ).run(
    row.cert_id,
    row.node_public_key,
    row.cert_json,
    row.roles_json,
    row.issued_at,
    row.expires_at,
    row.max_validity_hours,
  )
  prepare(
    "insert into node_liveness (cert_id, node_public_key, last_heartbeat, heartbeat_status, remote_addr) values (?, ?, ?, 'joined', ?)",
  ).run(row.cert_id, row.node_public_key, row.issued_at, row.remote_addr)
  if (row.label !== null)
    prepare(
      'insert into node_labels (node_public_key, label, folded) values (?, ?, ?) ' +
        'on conflict (node_public_key) do update set label = excluded.label, folded = excluded.folded',
    ).run(row.node_public_key, row.label, row.folded)
  const { event_id, event_json, issued_at } = row
  insertAuditRows(prepare, [{ event_id, event_type: EVENT, event_json, created_at: issued_at }])
  return 'issued'
}

/** A record's own timestamp as a column value. */
export function toSortable(timestamp: string): string {
  return writeSortable(readInstant(timestamp) ?? 0n)
}
