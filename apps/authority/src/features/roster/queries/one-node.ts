import { sql } from 'kysely'
import type { Reader } from '../../../database/database.ts'
import type { Tables } from '../../../database/tables.ts'

/** Certificates of one key that are shown, and whose events are looked for. */
const MAX_CERTIFICATES = 100

type CertificateRow = Pick<
  Tables['issued_certs'],
  | 'cert_id'
  | 'cert_json'
  | 'issued_at'
  | 'expires_at'
  | 'renewed_from'
  | 'revoke_after'
  | 'revoked_at'
  | 'revocation_reason'
>

/** Newest first. `more`: there are older ones. */
export async function listCertificatesOf(
  db: Reader,
  key: string,
): Promise<{ readonly certificates: readonly CertificateRow[]; readonly more: boolean }> {
  const rows = await db
    .selectFrom('issued_certs')
    .select([
      'cert_id',
      'cert_json',
      'issued_at',
      'expires_at',
      'renewed_from',
      'revoke_after',
      'revoked_at',
      'revocation_reason',
    ])
    .where('node_public_key', '=', key)
    .orderBy('issued_at', 'desc')
    .orderBy('cert_id', 'desc')
    .limit(MAX_CERTIFICATES + 1)
    .execute()
  return { certificates: rows.slice(0, MAX_CERTIFICATES), more: rows.length > MAX_CERTIFICATES }
}

/** The invite of the newest join of the key, while it is stored. */
export function findInviteOf(db: Reader, key: string) {
  return db
    .selectFrom('invite_tokens')
    .select([
      sql<string>`substr(token_digest, 1, 16)`.as('fingerprint'),
      'assigned_roles_json',
      'max_validity_hours',
      'recipient_public_key',
      'created_at',
      'created_by',
      'expires_at',
      'used_at',
    ])
    .where('used_by_key', '=', key)
    .orderBy('used_at', 'desc')
    .limit(1)
    .executeTakeFirst()
}

/** The descriptor as it was received. */
export async function findAgentText(db: Reader, key: string, now: string): Promise<string | undefined> {
  const row = await db
    .selectFrom('agent_registrations')
    .select('descriptor_json')
    .where('node_public_key', '=', key)
    .where('listed', '=', 1)
    .where('expires_at', '>', now)
    .executeTakeFirst()
  return row?.descriptor_json
}
