import { type Instant, type JoinCertificate, readInstant, writeSortable } from '@chancery/protocol'
import { sql } from 'kysely'
import type { Database, Reader, Transaction } from '../../../database/database.ts'
import type { CertificateState } from './heartbeats.ts'
import { toSortable } from './joins.ts'

export interface RenewableCertificate extends CertificateState {
  readonly cert_id: string
  readonly cert_json: string
  readonly roles_json: string
  readonly max_validity_hours: number
}

/**
 * The certificate with its state by the rows and by the revocation list. Its row is locked, so that renew against revoke
 * and renew against renew have one order.
 */
export async function loadForRenewal(
  { engine }: Pick<Database, 'engine'>,
  tx: Reader,
  cert_id: string,
): Promise<RenewableCertificate | undefined> {
  const query = tx
    .selectFrom('issued_certs')
    .select([
      'cert_id',
      'node_public_key',
      'cert_json',
      'roles_json',
      'max_validity_hours',
      'status',
      'issued_at',
      'expires_at',
      'revoke_after',
    ])
    .where('cert_id', '=', cert_id)
  const row = await (engine === 'postgres' ? query.forUpdate() : query).executeTakeFirst()
  if (row === undefined) return undefined
  const { isListed, isBurnt } = await findListed(tx, row)
  const compromised = isBurnt || (await isRevokedAsCompromised(tx, row.node_public_key))
  return { ...row, ...(isListed ? { status: 'revoked' } : {}), compromised }
}

/** Whether a certificate of this key was revoked because the key was compromised, by the rows or by the list. */
export async function isKeyCompromised(tx: Reader, node_public_key: string): Promise<boolean> {
  if (await isRevokedAsCompromised(tx, node_public_key)) return true
  return (await findListed(tx, { cert_id: '', node_public_key })).isBurnt
}

/**
 * Whether a certificate of this key was revoked for any reason, by the rows or by the list. One that was replaced by its
 * successor does not count.
 */
export async function isKeyRevoked(tx: Reader, node_public_key: string): Promise<boolean> {
  const row = await tx
    .selectFrom('issued_certs as c')
    .leftJoin('crl_entries as e', 'e.cert_id', 'c.cert_id')
    .select('c.cert_id')
    .where('c.node_public_key', '=', node_public_key)
    .where((eb) =>
      eb.or([eb('c.revocation_reason', '<>', 'superseded'), eb('e.entry_json', 'not like', `%${SUPERSEDED}%`)]),
    )
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

async function isRevokedAsCompromised(tx: Reader, node_public_key: string): Promise<boolean> {
  const row = await tx
    .selectFrom('issued_certs')
    .select('cert_id')
    .where('node_public_key', '=', node_public_key)
    .where('revocation_reason', '=', 'key_compromise')
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/**
 * Whether a certificate that followed this one, directly or later, was revoked. One whose own renewal ended it does not
 * count.
 */
export async function hasRevokedSuccessor(tx: Reader, cert_id: string): Promise<boolean> {
  const { rows } = await sql`
    with recursive later(cert_id) as (
      select cert_id from issued_certs where renewed_from = ${cert_id}
      union select c.cert_id from issued_certs c join later l on c.renewed_from = l.cert_id)
    select 1 from later l join issued_certs c on c.cert_id = l.cert_id left join crl_entries e on e.cert_id = l.cert_id
    where (c.status = 'revoked' or e.cert_id is not null)
      and not (c.revoke_after is not null and coalesce(c.revocation_reason, '') = 'superseded'
        and coalesce(c.revoked_at, '') >= c.revoke_after)
    limit 1`.execute(tx)
  return rows.length > 0
}

const SUPERSEDED = '"reason":"superseded"'
const COMPROMISED = '"reason":"key_compromise"'

/**
 * The state of a certificate and its key by the revocation list. A row that was edited back to issued must not become a
 * new certificate, and the entries are compared with the signed list before the next one is signed.
 */
async function findListed(
  tx: Reader,
  { cert_id, node_public_key }: { readonly cert_id: string; readonly node_public_key: string },
): Promise<{ readonly isListed: boolean; readonly isBurnt: boolean }> {
  const entries = await tx
    .selectFrom('issued_certs as c')
    .innerJoin('crl_entries as e', 'e.cert_id', 'c.cert_id')
    .select(['e.cert_id', 'e.entry_json'])
    .where('c.node_public_key', '=', node_public_key)
    .where((eb) => eb.or([eb('e.cert_id', '=', cert_id), eb('e.entry_json', 'like', `%${COMPROMISED}%`)]))
    .limit(2)
    .execute()
  return {
    isListed: entries.some((entry) => entry.cert_id === cert_id),
    isBurnt: entries.some((entry) => entry.entry_json.includes(COMPROMISED)),
  }
}

/**
 * When the renewal was made that is `count` renewals back, of those within a window; undefined when there were fewer.
 * Counted by the certificates themselves: the same for all instances, and not lost with a restart.
 */
export async function findRenewal(
  tx: Reader,
  node_public_key: string,
  window: { readonly after: Instant; readonly until: Instant },
  count: number,
): Promise<Instant | undefined> {
  const row = await tx
    .selectFrom('issued_certs')
    .select('issued_at')
    .where('node_public_key', '=', node_public_key)
    .where('renewed_from', 'is not', null)
    .where('issued_at', '>', writeSortable(window.after))
    .where('issued_at', '<=', writeSortable(window.until))
    .orderBy('issued_at', 'desc')
    .offset(count - 1)
    .limit(1)
    .executeTakeFirst()
  return row === undefined ? undefined : (readInstant(row.issued_at) ?? window.until)
}

export interface IssuedRow {
  readonly certificate: JoinCertificate
  readonly cert_json: string
  readonly roles_json: string
  readonly max_validity_hours: number
  readonly renewed_from: string | null
  readonly remote_addr: string
}

/** Stores a certificate and its liveness. Gives its end as a column value. */
export async function insertIssued(tx: Transaction, row: IssuedRow): Promise<{ readonly expires_at: string }> {
  const { certificate, remote_addr, ...columns } = row
  const { cert_id, node_public_key } = certificate
  const [issued_at, expires_at] = [toSortable(certificate.issued_at), toSortable(certificate.expires_at)]
  await tx.query
    .insertInto('issued_certs')
    .values({
      ...columns,
      cert_id,
      node_public_key,
      issued_at,
      expires_at,
      status: 'issued',
      revoke_after: null,
      list_after: null,
      revoked_at: null,
      revocation_reason: null,
    })
    .execute()
  await tx.query
    .insertInto('node_liveness')
    .values({
      cert_id,
      node_public_key,
      last_heartbeat: issued_at,
      heartbeat_status: 'joined',
      remote_addr,
      revoke_after: null,
      genesis_digest: null,
    })
    .execute()
  return { expires_at }
}

export async function supersede(
  tx: Transaction,
  cert_id: string,
  end: { revoke_after: string; list_after: string | null },
): Promise<void> {
  const { numUpdatedRows } = await tx.query
    .updateTable('issued_certs')
    .set(end)
    .where('cert_id', '=', cert_id)
    .where('status', '=', 'issued')
    .where('revoke_after', 'is', null)
    .executeTakeFirst()
  // It was revoked or ended meanwhile. An end is written once and never moved.
  if (numUpdatedRows === 0n) return
  await tx.query
    .updateTable('node_liveness')
    .set({ revoke_after: end.revoke_after })
    .where('cert_id', '=', cert_id)
    .execute()
}
