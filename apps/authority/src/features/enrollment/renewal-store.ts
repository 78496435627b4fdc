import { readInstant, writeSortable } from '@chancery/protocol'
import type { JoinCertificate } from '@chancery/protocol'
import type { NonceClaim, Store, Tx } from '../../store/database.ts'
import type { CertificateState } from '../../store/heartbeats.ts'

export interface RenewableCertificate extends CertificateState {
  readonly cert_id: string
  readonly roles_json: string
  readonly max_validity_hours: number
}

/** The certificate with its row held, so that renew against revoke and renew against renew have one order. */
export async function loadForRenewal(store: Store, tx: Tx, cert_id: string): Promise<RenewableCertificate | undefined> {
  const query = tx
    .selectFrom('issued_certs')
    .select([
      'cert_id',
      'node_public_key',
      'roles_json',
      'max_validity_hours',
      'status',
      'issued_at',
      'expires_at',
      'revoke_after',
    ])
    .where('cert_id', '=', cert_id)
  const row = await (store.backend === 'postgres' ? query.forUpdate() : query).executeTakeFirst()
  if (row === undefined) return undefined
  const burnt = await tx
    .selectFrom('issued_certs')
    .select('cert_id')
    .where('node_public_key', '=', row.node_public_key)
    .where('revocation_reason', '=', 'key_compromise')
    .limit(1)
    .executeTakeFirst()
  return { ...row, compromised: burnt !== undefined }
}

/** Spends a nonce inside the caller's transaction; true when it was fresh. */
export async function claimInside(tx: Tx, claim: NonceClaim): Promise<boolean> {
  const row = await tx
    .insertInto('nonces')
    .values(claim)
    .onConflict((conflict) => conflict.doNothing())
    .returning('expires_at')
    .executeTakeFirst()
  return row !== undefined
}

export async function insertSuccessor(
  tx: Tx,
  stored: RenewableCertificate,
  certificate: JoinCertificate,
  cert_json: string,
  remote_addr: string,
): Promise<void> {
  const issued_at = toSortable(certificate.issued_at)
  await tx
    .insertInto('issued_certs')
    .values({
      cert_id: certificate.cert_id,
      node_public_key: certificate.node_public_key,
      cert_json,
      roles_json: stored.roles_json,
      issued_at,
      expires_at: toSortable(certificate.expires_at),
      max_validity_hours: stored.max_validity_hours,
      status: 'issued',
      renewed_from: stored.cert_id,
      revoke_after: null,
      list_after: null,
      revoked_at: null,
      revocation_reason: null,
    })
    .execute()
  await tx
    .insertInto('node_liveness')
    .values({
      cert_id: certificate.cert_id,
      last_heartbeat: issued_at,
      heartbeat_status: 'joined',
      remote_addr,
      revoke_after: null,
    })
    .execute()
}

export async function supersede(
  tx: Tx,
  cert_id: string,
  end: { revoke_after: string; list_after: string | null },
): Promise<void> {
  await tx.updateTable('issued_certs').set(end).where('cert_id', '=', cert_id).execute()
  await tx.updateTable('node_liveness').set({ revoke_after: end.revoke_after }).where('cert_id', '=', cert_id).execute()
}

/** A record's own timestamp as a column value. */
export function toSortable(timestamp: string): string {
  return writeSortable(readInstant(timestamp) ?? 0n)
}
